//! From the text of a plan to a checked [`Plan`].

use toml::de::DeTable;

use super::definition::{Order, Plan};
use super::keys::{self, names};
use super::levels::{Factor, Levels, REPLICATE_FACTOR, SERVER_FACTOR};
use super::options::{Side, check_option};
use super::published::{Exclusion, Published, PublishedValue};
use super::server::{External, FileContent, Helper, PlanFile, Program, Ready, ServerSpec};
use super::source::{Item, PlanError, Section, Source, did_you_mean};
use super::value::{Settings, Value};
use crate::catalog::{Catalog, ProgramWord};
use crate::statistics::Statistic;

/// At most so many repetitions; more is a mistake of typing.
const REPETITIONS_MAX: i64 = 10_000;

impl Plan {
    /// Reads a plan. `name` is the suite's name or the file's; complaints begin with it.
    ///
    /// # Errors
    /// The first mistake, with its line and the nearest right word.
    pub fn parse(name: &str, text: &str, catalog: &Catalog) -> Result<Plan, PlanError> {
        let source = Source { name, text };
        let table = DeTable::parse(text).map_err(|e| {
            let what = e.message().lines().next().unwrap_or("it is not TOML").to_owned();
            source.error(
                &e.span().unwrap_or(0..0),
                what,
                "plans are TOML: `pitot list plan-schema` tells the keys",
            )
        })?;
        let root = Section::root(source, table.get_ref());
        for (old, new) in keys::RENAMED {
            if let Some(item) = root.get(old) {
                let what = format!("`{old}` is now called `{new}`");
                return Err(source.error(&item.key_span, what, format!("write `{new}` in its place")));
            }
        }
        root.check_keys(names(keys::PLAN))?;
        Reader { catalog, program: None }.plan(&root)
    }
}

struct Reader<'a> {
    catalog: &'a Catalog,
    /// What runs in the place of `pitot load`.
    program: Option<&'a ProgramWord>,
}

impl Reader<'_> {
    fn plan(&mut self, root: &Section<'_>) -> Result<Plan, PlanError> {
        let mut plan = Plan { name: stem(root.source.name), ..Plan::default() };
        // The program comes first: it decides which options the load has.
        if let Some(item) =
            root.get("load").map(|l| l.section("`load`")).transpose()?.and_then(|l| l.get("program"))
        {
            let name = item.text()?;
            let known: Vec<&str> = self.catalog.programs.iter().map(|p| p.name.as_str()).collect();
            self.program = Some(
                self.catalog
                    .program(&name)
                    .ok_or_else(|| item.unknown_value("a program for the load", &known))?,
            );
            plan.program = Some(name);
        }
        // Servers come before factors, factors before all that names levels.
        if let Some(servers) = root.get("servers") {
            for server in servers.section("`servers`")?.items() {
                plan.servers.push(self.server(&server)?);
            }
        }
        plan.server = self.settings(root, Side::Server)?;
        plan.load = self.settings(root, self.load_side())?;
        plan.load.take("program");
        if let Some(item) = root.get("helpers") {
            for one in item.section("`helpers`")?.items() {
                plan.helpers.push(self.helper(&one)?);
            }
        }
        let factors =
            root.need("factors", "say what is varied: [factors] with a line such as server = [\"loop\"]")?;
        plan.factors = self.factors(&plan, &factors.section("`factors`")?)?;
        for item in root.items() {
            self.key(&mut plan, &item)?;
        }
        self.check_needs(&plan, root)?;
        Ok(plan)
    }

    fn key(&self, plan: &mut Plan, item: &Item<'_>) -> Result<(), PlanError> {
        match item.key.as_str() {
            "title" => plan.title = item.text()?,
            "question" => plan.question = item.text()?,
            "notes" => plan.notes = item.texts()?,
            "repetitions" => plan.repetitions = item.integer(1, REPETITIONS_MAX)? as u32,
            "warmup" => plan.warmup_s = item.duration()?,
            "duration" => {
                plan.duration_s = item.duration()?;
                if plan.duration_s <= 0.0 {
                    return Err(
                        item.error("`duration` must be longer than nothing", "write \"2s\", for example")
                    );
                }
            }
            "order" => {
                plan.order = match item.text()?.as_str() {
                    "interleaved" => Order::Interleaved,
                    "sequential" => Order::Sequential,
                    _ => return Err(item.unknown_value("an order", &["interleaved", "sequential"])),
                }
            }
            "seed" => plan.seed = Some(item.integer(0, i64::MAX)? as u64),
            "statistic" => plan.statistic = statistic(item)?,
            "tolerance" => plan.tolerance = item.share()?,
            "metric" => plan.metric = metric(item, self.catalog)?,
            "baseline" => {
                plan.baseline = Some(levels(&item.section("`baseline`")?, &[], &plan.factors, Strict::All)?);
            }
            "charts" => {
                let known: Vec<&str> = self.catalog.charts.iter().map(String::as_str).collect();
                for chart in item.list()? {
                    if !known.contains(&chart.text()?.as_str()) {
                        return Err(chart.unknown_value("a chart", &known));
                    }
                    plan.charts.push(chart.text()?);
                }
            }
            "files" => plan.files = files(item)?,
            "exclude" => {
                for one in item.list()? {
                    let section = one.section("an exclusion")?;
                    plan.exclude.push(Exclusion {
                        levels: levels(&section, &["reason"], &plan.factors, Strict::All)?,
                        reason: section.need("reason", "say why: reason = \"...\"")?.text()?,
                    });
                }
            }
            "published" => {
                for one in item.list()? {
                    plan.published.push(published(&one.section("`published`")?, plan, self.catalog)?);
                }
            }
            "ready-timeout" => plan.ready_timeout_s = item.duration()?,
            "stop-timeout" => plan.stop_timeout_s = item.duration()?,
            "server-cpus" => plan.server_cpus = Some(cpu_list(item)?),
            "load-cpus" => plan.load_cpus = Some(cpu_list(item)?),
            _ => {} // servers, server, load, helpers and factors are read already; unknown keys are refused before.
        }
        Ok(())
    }

    fn load_side(&self) -> Side<'_> {
        self.program.map_or(Side::Load, Side::Program)
    }

    fn helper(&self, item: &Item<'_>) -> Result<Helper, PlanError> {
        let section = item.section(format!("`helpers.{}`", item.key))?;
        let reserved = ["address", "port", "dir", "cpus", "size"];
        if reserved.contains(&item.key.as_str()) {
            let what = format!("`{{{}}}` has a meaning of its own", item.key);
            return Err(section.source.error(&item.key_span, what, "choose another name"));
        }
        let protocol = section.need("protocol", "say what it speaks: protocol = \"dns\"")?;
        let mut options = Settings::default();
        for option in section.items() {
            let value = option.setting()?;
            check_option(self.catalog, Side::Server, &option, &option.key, &value)?;
            if option.key != "protocol" {
                options.set(&option.key, value);
            }
        }
        Ok(Helper { name: item.key.clone(), protocol: protocol.text()?, options })
    }

    fn settings(&self, root: &Section<'_>, side: Side<'_>) -> Result<Settings, PlanError> {
        let mut settings = Settings::default();
        if let Some(item) = root.get(side.table()) {
            for option in item.section(format!("`{}`", side.table()))?.items() {
                let value = option.setting()?;
                if option.key == "program" && side != Side::Server {
                    continue;
                }
                check_option(self.catalog, side, &option, &option.key, &value)?;
                settings.set(&option.key, value);
            }
        }
        Ok(settings)
    }

    fn server(&self, item: &Item<'_>) -> Result<ServerSpec, PlanError> {
        let section = item.section(format!("`servers.{}`", item.key))?;
        let text = |key: &str| section.get(key).map(|i| i.text()).transpose();
        let texts = |key: &str| section.get(key).map(|i| command(&i)).transpose();
        let summary = text("summary")?.unwrap_or_default();
        let files = section.get("files").map(|i| files(&i)).transpose()?.unwrap_or_default();
        let program = if let Some(command_item) = section.get("command") {
            section.check_keys(names(keys::EXTERNAL))?;
            Program::External(External {
                command: command(&command_item)?,
                ready: section.get("ready").map_or(Ok(Ready::Port), |i| ready(&i))?,
                stop: section.get("stop").map_or(Ok("TERM".to_owned()), |i| stop(&i))?,
                url: text("url")?,
                version: texts("version")?.unwrap_or_default(),
            })
        } else {
            let mut settings = Settings::default();
            for option in section.items() {
                if ["summary", "files"].contains(&option.key.as_str()) {
                    continue;
                }
                if names(keys::EXTERNAL).any(|k| k == option.key) {
                    let what = format!("`servers.{}` has `{}` but no `command`", item.key, option.key);
                    let cure = "another program needs command = [...]; a server of Pitot takes options of `pitot serve`";
                    return Err(section.source.error(&option.key_span, what, cure));
                }
                let value = option.setting()?;
                check_option(self.catalog, Side::Server, &option, &option.key, &value)?;
                settings.set(&option.key, value);
            }
            Program::Pitot(settings)
        };
        Ok(ServerSpec { name: item.key.clone(), summary, files, program })
    }

    fn factors(&self, plan: &Plan, section: &Section<'_>) -> Result<Vec<Factor>, PlanError> {
        let mut factors: Vec<Factor> = Vec::new();
        for item in section.flat_items() {
            let elements = item.list()?;
            if elements.is_empty() {
                return Err(
                    item.error(format!("`{}` has no levels", item.key), "name at least one, or take it out")
                );
            }
            let mut levels: Vec<Value> = Vec::new();
            for element in &elements {
                let value = element.need_scalar()?;
                self.check_level(plan, &item, element, &value)?;
                if levels.iter().any(|l| l.to_string() == value.to_string()) {
                    return Err(element.error(format!("the level `{value}` stands twice"), "take one out"));
                }
                levels.push(value);
            }
            factors.push(Factor { name: item.key.clone(), levels });
        }
        if factors.is_empty() {
            let cure = "name at least one, such as server = [\"loop+epoll-et\"]";
            return Err(section.source.error(&section.span, "`factors` is empty", cure));
        }
        Ok(factors)
    }

    fn check_level(
        &self,
        plan: &Plan,
        item: &Item<'_>,
        element: &Item<'_>,
        value: &Value,
    ) -> Result<(), PlanError> {
        match item.key.split_once('.') {
            Some(("server", option)) => check_option(self.catalog, Side::Server, element, option, value),
            Some(("load", option)) => check_option(self.catalog, self.load_side(), element, option, value),
            None if item.key == SERVER_FACTOR => self.check_server_level(plan, element, value),
            None if item.key == REPLICATE_FACTOR => Ok(()),
            _ => {
                let mut known = vec![SERVER_FACTOR.to_owned(), REPLICATE_FACTOR.to_owned()];
                for (side, options) in
                    [("server", &self.catalog.serve_options), ("load", &self.catalog.load_options)]
                {
                    known.extend(options.iter().map(|o| format!("{side}.{}", o.name)));
                }
                let what = "something that can be varied";
                let near = did_you_mean(&item.key, &known.iter().map(String::as_str).collect::<Vec<_>>());
                let cure = if near.starts_with("known") {
                    "factors are `server`, `replicate`, `server.OPTION` and `load.OPTION`".to_owned()
                } else {
                    near
                };
                Err(item.source.error(&item.key_span, format!("`{}` is not {what}", item.key), cure))
            }
        }
    }

    fn check_server_level(&self, plan: &Plan, element: &Item<'_>, value: &Value) -> Result<(), PlanError> {
        let name = value.to_string();
        if plan.servers.iter().any(|s| s.name == name) {
            return Ok(());
        }
        let models: Vec<&str> = self.catalog.models.iter().map(|m| m.name.as_str()).collect();
        let mechanisms: Vec<&str> = self.catalog.mechanisms.iter().map(String::as_str).collect();
        let (model, mechanism) = match name.split_once('+') {
            Some((model, mechanism)) => (model, Some(mechanism)),
            None => (name.as_str(), None),
        };
        if let Some(mechanism) = mechanism
            && !mechanisms.contains(&mechanism)
            && models.contains(&model)
        {
            let what = format!("`{mechanism}` in `{name}` is not an event mechanism");
            return Err(element.error(what, did_you_mean(mechanism, &mechanisms)));
        }
        if models.contains(&model) {
            return Ok(());
        }
        let mut known: Vec<&str> = plan.servers.iter().map(|s| s.name.as_str()).collect();
        known.extend(&models);
        let what = format!("`{model}` is neither a server of this plan nor a model of Pitot");
        Err(element.error(what, did_you_mean(model, &known)))
    }

    /// What holds between keys.
    fn check_needs(&self, plan: &Plan, root: &Section<'_>) -> Result<(), PlanError> {
        let whole = plan.factors.iter().any(|f| f.name == SERVER_FACTOR);
        if let Some(f) = plan
            .factors
            .iter()
            .find(|f| whole && matches!(f.name.as_str(), "server.model" | "server.mechanism"))
        {
            let factors = root.need("factors", "")?;
            let what = format!("both `server` and `{}` choose the server", f.name);
            return Err(factors.error(what, "take one of the two factors out"));
        }
        let has_pitot_server = !whole
            || plan.factors.iter().filter(|f| f.name == SERVER_FACTOR).flat_map(|f| &f.levels).any(|l| {
                !plan
                    .servers
                    .iter()
                    .any(|s| s.name == l.to_string() && matches!(s.program, Program::External(_)))
            });
        let protocol = plan.server.get("protocol").is_some()
            || plan.factors.iter().any(|f| f.name == "server.protocol")
            || plan
                .servers
                .iter()
                .any(|s| matches!(&s.program, Program::Pitot(o) if o.get("protocol").is_some()));
        if self.program.is_some_and(|p| !p.needs_server) {
            let is_servers = |f: &&Factor| f.name == SERVER_FACTOR || f.name.starts_with("server.");
            let by_factor = plan.factors.iter().find(is_servers).and_then(|_| root.get("factors"));
            let at = root.get("server").or_else(|| root.get("servers")).or(by_factor);
            return at.map_or(Ok(()), |item| {
                let name = plan.program.as_deref().unwrap_or_default();
                let what = format!("`pitot {name}` is measured by itself, without a server");
                Err(root.source.error(&item.key_span, what, "take the server out"))
            });
        }
        if has_pitot_server && !protocol {
            let known: Vec<&str> = self.catalog.protocols.iter().map(String::as_str).collect();
            let cure = format!("write protocol = \"{}\" under [server]", known.join("\" or \""));
            let at = root.get("server").map_or(0..0, |i| i.key_span);
            return Err(root.source.error(&at, "the plan does not say which protocol is served", cure));
        }
        Ok(())
    }
}

/// `suites/quick.toml` is called `quick`.
fn stem(name: &str) -> String {
    std::path::Path::new(name)
        .file_stem()
        .map_or_else(|| name.to_owned(), |s| s.to_string_lossy().into_owned())
}

fn statistic(item: &Item<'_>) -> Result<Statistic, PlanError> {
    let text = item.text()?;
    if text == "median" {
        return Ok(Statistic::Median);
    }
    text.strip_prefix("trimmed-mean(")
        .and_then(|rest| rest.strip_suffix(')'))
        .and_then(|n| n.parse().ok())
        .map(Statistic::TrimmedMean)
        .ok_or_else(|| item.unknown_value("a statistic", &["median", "trimmed-mean(1)"]))
}

fn metric(item: &Item<'_>, catalog: &Catalog) -> Result<String, PlanError> {
    let name = item.text()?;
    if catalog.metrics.contains(&name) {
        return Ok(name);
    }
    let known: Vec<&str> = catalog.metrics.iter().map(String::as_str).collect();
    Err(item.unknown_value("a metric", &known))
}

fn cpu_list(item: &Item<'_>) -> Result<String, PlanError> {
    let text = item.text()?;
    if crate::host::parse_cpu_list(&text).is_some_and(|cpus| !cpus.is_empty()) {
        return Ok(text);
    }
    Err(item.error(format!("`{text}` is not a list of CPUs"), "write numbers and ranges: \"0-3,8\""))
}

/// A command as a list of arguments, or as one text that is split at blanks.
fn command(item: &Item<'_>) -> Result<Vec<String>, PlanError> {
    let words = match item.text() {
        Ok(text) if text.contains(['"', '\'', '\\', '|', '&', ';', '>', '<', '$']) => {
            let cure = format!("write it as a list: {} = [\"program\", \"argument\"]", item.key);
            return Err(item.error("a command as one text is split at blanks and knows no quotes", cure));
        }
        Ok(text) => text.split_whitespace().map(str::to_owned).collect(),
        Err(_) => item.texts()?,
    };
    if words.is_empty() {
        return Err(item.error(format!("`{}` is empty", item.key), "name a program"));
    }
    Ok(words)
}

fn ready(item: &Item<'_>) -> Result<Ready, PlanError> {
    if let Ok(text) = item.text() {
        return if text == "port" {
            Ok(Ready::Port)
        } else {
            Err(item.unknown_value("a way to be ready", &["port"]))
        };
    }
    let section = item.section("`ready`")?;
    section.check_keys(["line"])?;
    Ok(Ready::Line(section.need("line", "write ready = { line = \"text of the line\" }")?.text()?))
}

fn stop(item: &Item<'_>) -> Result<String, PlanError> {
    let text = item.text()?;
    let known = ["TERM", "INT", "QUIT"];
    let bare = text.strip_prefix("SIG").unwrap_or(&text);
    if known.contains(&bare) {
        Ok(bare.to_owned())
    } else {
        Err(item.unknown_value("a signal that stops", &known))
    }
}

fn files(item: &Item<'_>) -> Result<Vec<PlanFile>, PlanError> {
    let mut files = Vec::new();
    for file in item.section("`files`")?.items() {
        let path = std::path::Path::new(&file.key);
        let inside = path.components().all(|c| matches!(c, std::path::Component::Normal(_)));
        if !inside || file.key.is_empty() {
            let what = format!("`{}` is not a path below the private directory", file.key);
            return Err(file.source.error(&file.key_span, what, "write it as \"html/index.html\""));
        }
        let content = match file.text() {
            Ok(text) => FileContent::Text(text),
            Err(_) => {
                let section = file.section(format!("the file `{}`", file.key))?;
                section.check_keys(["size", "lines", "line"])?;
                if let Some(lines) = section.get("lines") {
                    let count = pitot_meter::units::count(&lines.need_scalar()?.to_string())
                        .map_err(|e| lines.error(e.to_string(), "write 200000 or \"200k\""))?;
                    let line =
                        section.need("line", "say what stands in each: line = \"user{i}@d{i%10}.test\"")?;
                    FileContent::Lines { count, line: line.text()? }
                } else {
                    let cure = "write { size = \"1KiB\" }, or { lines = 1000, line = \"{i}\" }";
                    let size = section.need("size", cure)?;
                    let text = size.need_scalar()?.to_string();
                    if text == "{size}" {
                        FileContent::SizeOfLoad
                    } else {
                        let cure = "write \"512\", \"4KiB\", \"1MiB\", or \"{size}\" for the load's size";
                        let bytes = pitot_meter::units::size(&text);
                        FileContent::Size(bytes.map_err(|e| size.error(e.to_string(), cure))?)
                    }
                }
            }
        };
        files.push(PlanFile { path: file.key.clone(), content });
    }
    Ok(files)
}

/// How far levels must be those of the plan.
#[derive(Clone, Copy, PartialEq)]
enum Strict {
    /// Every level.
    All,
    /// Words, but not numbers: others have measured at other sizes.
    Words,
}

/// The levels in a table, beside the keys `others`.
fn levels(
    section: &Section<'_>,
    others: &[&str],
    factors: &[Factor],
    strict: Strict,
) -> Result<Levels, PlanError> {
    let mut result = Levels::default();
    for item in section.flat_items() {
        if others.iter().any(|o| item.key == *o || item.key.starts_with(&format!("{o}."))) {
            continue;
        }
        let Some(factor) = factors.iter().find(|f| f.name == item.key) else {
            let known: Vec<&str> =
                factors.iter().map(|f| f.name.as_str()).chain(others.iter().copied()).collect();
            return Err(item.unknown("a factor of this plan", &known));
        };
        let wanted = item.list().unwrap_or_else(|_| vec![item.clone()]);
        let known: Vec<String> = factor.levels.iter().map(Value::to_string).collect();
        let mut names = Vec::new();
        for level in &wanted {
            let name = level.need_scalar()?.to_string();
            let free = strict == Strict::Words && crate::units::number(&name).is_some();
            if !free && !known.contains(&name) {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                return Err(level.unknown_value(&format!("a level of `{}`", item.key), &known));
            }
            names.push(name);
        }
        result.0.push((item.key.clone(), names));
    }
    Ok(result)
}

fn published(section: &Section<'_>, plan: &Plan, catalog: &Catalog) -> Result<Published, PlanError> {
    section.check_keys(names(keys::PUBLISHED))?;
    let mut published = Published {
        source: section.need("source", "say who published it: source = \"...\"")?.text()?,
        year: section.need("year", "say when: year = 2001")?.integer(1900, 2200)? as i32,
        metric: section.get("metric").map_or(Ok(plan.metric.clone()), |i| metric(&i, catalog))?,
        ..Published::default()
    };
    if let Some(title) = section.get("title") {
        published.title = title.text()?;
    }
    if let Some(item) = section.get("ratio-to") {
        published.ratio_to = Some(levels(&item.section("`ratio-to`")?, &[], &plan.factors, Strict::Words)?);
    }
    for one in section.need("values", "values = [{ server = \"...\", value = 1.5 }]")?.list()? {
        let value = one.section("a published value")?;
        published.values.push(PublishedValue {
            levels: levels(&value, &["value"], &plan.factors, Strict::Words)?,
            value: value.need("value", "write value = 1.5")?.number()?,
        });
    }
    Ok(published)
}
