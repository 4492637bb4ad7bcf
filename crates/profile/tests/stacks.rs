//! Stacks of code without frame pointers, from real samples.

use std::hint::black_box;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use pitot_needs::needs;
use pitot_plan::Profiled;
use pitot_profile::{Recorded, Recorder};

/// Samples a process, which does something meanwhile.
fn sampled(pid: u32, mut meanwhile: impl FnMut()) -> Recorded {
    let cpus = pitot_sys::affinity::allowed().unwrap();
    let mut recorder = Recorder::of(Profiled::Cpu, &[pid], &cpus).unwrap();
    recorder.start().unwrap();
    let end = Instant::now() + Duration::from_millis(500);
    while Instant::now() < end {
        meanwhile();
        recorder.look();
    }
    recorder.stop().unwrap();
    recorder.recorded()
}

/// Samples that have these functions, the outermost first.
fn with(stacks: &Recorded, names: &[&str]) -> f64 {
    let has = |line: &str| {
        let mut functions = line.split(';').filter_map(|frame| Some(frame.split_once('`')?.1));
        let is = |function: &str, name: &str| {
            function.split(|c: char| c != '_' && !c.is_alphanumeric()).any(|word| word == name)
        };
        names.iter().all(|name| functions.any(|function| is(function, name)))
    };
    stacks.amounts.iter().filter(|(line, _)| has(line)).map(|(_, amount)| amount.count as f64).sum()
}

#[inline(never)]
fn rust_inner(rounds: u64) -> u64 {
    (0..rounds).fold(0, |sum: u64, i| black_box(sum.wrapping_mul(31).wrapping_add(i)))
}

#[inline(never)]
fn rust_outer(rounds: u64) -> u64 {
    // It has to return here.
    black_box(rust_inner(rounds)) + 1
}

#[needs("own-sampling")]
#[test]
fn a_function_has_its_callers() {
    let stacks = sampled(std::process::id(), || {
        black_box(rust_outer(1_000_000));
    });
    // Other tests run in the same process.
    let all = with(&stacks, &["rust_inner"]);
    assert!(all > 50.0, "{stacks:#?}");
    let names = ["__rust_begin_short_backtrace", "rust_outer", "rust_inner"];
    assert!(with(&stacks, &names) > 0.8 * all, "{stacks:#?}");
}

/// Ends with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const PROGRAM: &str = r#"
    #include <stdlib.h>
    #include <string.h>
    #include <unistd.h>

    static char from[1 << 16], to[1 << 16];
    static int numbers[256];

    static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

    __attribute__((noinline)) void inner(size_t bytes)
    {
        for (int i = 0; i < 10; i++) {
            memcpy(to, from, bytes);
            from[i] = to[i + 1];
        }
        for (int i = 0; i < 256; i++)
            numbers[i] = i * 7919 % 256;
        qsort(numbers, 256, sizeof numbers[0], compare);
        __asm__ volatile("" ::: "memory");
    }

    __attribute__((noinline)) void outer(size_t bytes)
    {
        inner(bytes);
        __asm__ volatile("" ::: "memory");
    }

    int main(void)
    {
        // It does not outlive a test that was killed.
        alarm(60);
        write(1, ".", 1);
        for (size_t i = 0;; i++)
            outer(sizeof to - i % 64);
    }
"#;

#[needs("cc", "own-sampling")]
#[test]
fn functions_of_c_and_of_its_library_have_their_callers() {
    let folder = tempfile::tempdir().unwrap();
    let [source, program] = ["program.c", "program"].map(|name| folder.path().join(name));
    std::fs::write(&source, PROGRAM).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-O2", "-fomit-frame-pointer", "-w", "-o"]).args([&program, &source]);
    assert!(compiler.status().unwrap().success());
    let mut program = Ended(Command::new(&program).stdout(Stdio::piped()).spawn().unwrap());
    // From here on it is in `main`, and its library has been loaded.
    program.0.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let stacks = sampled(program.0.id(), || std::thread::sleep(Duration::from_millis(20)));
    let all: f64 = stacks.amounts.values().map(|amount| amount.count as f64).sum();
    assert!(all > 50.0, "{stacks:#?}");
    assert!(with(&stacks, &["main", "outer", "inner"]) > 0.8 * all, "{stacks:#?}");
    assert!(with(&stacks, &["main", "outer", "inner", "compare"]) > 0.05 * all, "{stacks:#?}");
}
