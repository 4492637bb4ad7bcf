//! A run file whose texts try to command a terminal, a Markdown viewer and a browser.

use pitot_record::Run;
use pitot_report::{Format, Gate, compare};

use crate::forms::{render, render_comparison};
use crate::support::SMALL;

/// Sets the clipboard (OSC 52) and the title, clears the screen, moves the cursor by C0 and C1, turns the direction of writing,
/// opens HTML and ends a table's field.
const HOSTILE: &str = "\x1b]52;c;cHduZWQ=\x07\x1b]0;title\x07\x1b[2J\u{9b}9A\r\u{202e}x\u{2066}y<script>alert(1)</script>|\n# z";

/// Every text that is not one of a few words the lab itself reads.
const PLANTED: [&str; 6] = [
    "UPDATE run SET command_line = ?1, version = ?1, started_at = started_at || ?1, ended_at = ended_at || ?1,
     server_cpus = ?1, load_cpus = ?1, plan_source = ?1, warnings = json_array(?1),
     server_versions = json_array(json_array(?1, ?1)),
     plan = json_set(plan, '$.name', 'n' || ?1, '$.title', 't' || ?1, '$.question', 'q' || ?1,
                     '$.notes', json_array(?1), '$.published[0].source', ?1, '$.published[0].title', ?1)",
    "UPDATE fact SET topic = topic || ?1, name = name || ?1, value = value || ?1",
    "UPDATE skip SET reason = ?1, factors = json_array(json_object('name', ?1, 'level', ?1))",
    "UPDATE cell SET server_command = server_command || ?1, load_command = load_command || ?1, fresh_reason = ?1",
    "UPDATE factor SET level = level || ?1",
    "UPDATE repetition SET reason = ?1, address = ?1, started_at = started_at || ?1, output_tail = ?1,
     verdict = iif(block = 0, 'failed', verdict), figures = json_array(json_array(?1, 1.0))",
];

fn hostile(directory: &tempfile::TempDir) -> Run {
    let path = directory.path().join("run.pitot");
    SMALL.run(&path);
    let file = rusqlite::Connection::open(&path).unwrap();
    for statement in PLANTED {
        assert!(file.execute(statement, [HOSTILE]).unwrap() > 0, "{statement}");
    }
    drop(file);
    Run::open(&path).unwrap()
}

fn is_obeyed(text: &str) -> Option<char> {
    let lines = text.replace("\r\n", "\n");
    lines.chars().find(|&c| (c.is_control() && c != '\n' && c != '\t') || "\u{202e}\u{2066}".contains(c))
}

/// A page or a table of Markdown is what Pitot made it.
fn check(format: Format, text: &str) {
    assert_eq!(is_obeyed(text), None, "{format:?}: {text}");
    if !matches!(format, Format::CsvSlices) {
        assert!(text.contains(r"\x1b]52;c;") || text.contains(r"\u001b]52;c;") || text.contains(" ]52;c;"));
    }
    match format {
        Format::Html => assert!(!text.contains("<script>alert"), "{text}"),
        Format::Json => drop(serde_json::from_str::<serde_json::Value>(text).unwrap()),
        Format::Markdown => {
            let mut is_code = false;
            let mut bars = None;
            for line in text.lines() {
                is_code ^= line.starts_with("```");
                let outside: String = line.split('`').step_by(2).collect();
                assert!(is_code || !outside.replace(r"\<", "").contains("<script"), "{line}");
                assert!(is_code || !line.starts_with("# z"), "{line}");
                let here = line.starts_with("| ").then(|| line.replace(r"\|", "").matches('|').count());
                assert!(here.is_none() || bars.is_none() || here == bars, "{line}");
                bars = here;
            }
        }
        _ => {}
    }
}

#[test]
fn no_format_of_a_report_lets_a_text_command_its_reader() {
    let directory = tempfile::tempdir().unwrap();
    let run = hostile(&directory);
    Format::ALL.iter().for_each(|&format| check(format, &render(&run, format)));
}

#[test]
fn no_format_of_a_comparison_does() {
    let directory = tempfile::tempdir().unwrap();
    let run = hostile(&directory);
    let gates = ["throughput worse by > 5%"].map(|text| text.parse::<Gate>());
    let judged: Vec<_> = gates.into_iter().filter_map(Result::ok).collect();
    let comparison = compare(&run, &run, &judged);
    for format in Format::ALL {
        let text = render_comparison(&comparison, &[], format);
        assert_eq!(is_obeyed(&text), None, "{format:?}: {text}");
        assert!(
            !text.replace(r"\<", "").contains("<script>alert")
                || format == Format::Json
                || format == Format::Terminal
        );
    }
}
