//! Reading a sealed catalogue: it waits for nobody, shares nothing that is written, and touches only what has a say.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use toolwright::{Catalog, Context, Invocation, Options, Protocol, Registry, Rt, Runtime, json, tool};

use crate::world::block_on;

/// A context and a decision of a host's own, neither of which can be copied.
struct Caller {
    waits: Option<Mutex<mpsc::Receiver<()>>>,
    arrived: Option<Mutex<mpsc::Sender<()>>>,
}

type App = Rt<Caller>;

const fn is_shared<T: Clone + Send + Sync + 'static>() {}

const _: () = is_shared::<Catalog>();
const _: () = is_shared::<Catalog<App>>();

#[test]
fn a_fold_over_a_thousand_tools_calls_the_two_that_have_a_say() {
    let (asked, others) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut registry = Registry::new();
    for number in 0..1_000 {
        let (asked, others) = (asked.clone(), others.clone());
        let declared = tool(format!("t{number}"), "A tool").reads();
        let declared = if number == 17 || number == 800 {
            declared.visible_text(move |text: String, _| {
                asked.fetch_add(1, Ordering::Relaxed);
                format!("{text} {number}")
            })
        } else {
            declared.available(move |_| others.fetch_add(1, Ordering::Relaxed) < usize::MAX)
        };
        registry.register(declared.run_json(|value, _| async move { Ok(value) })).unwrap();
    }
    let catalog = registry.seal();
    assert_eq!(catalog.visible_text("text", &Context::default()).unwrap(), "text 17 800");
    assert_eq!((asked.load(Ordering::Relaxed), others.load(Ordering::Relaxed)), (2, 0));
    catalog.describe(None, Some(&Context::default()));
    assert_eq!((asked.load(Ordering::Relaxed), others.load(Ordering::Relaxed)), (2, 998));
}

/// Says that it has come, and goes on when it may; at once for a caller who does not wait.
fn wait(cx: &Caller) {
    if let (Some(arrived), Some(waits)) = (&cx.arrived, &cx.waits) {
        arrived.lock().unwrap().send(()).unwrap();
        waits.lock().unwrap().recv_timeout(Duration::from_secs(60)).unwrap();
    }
}

fn waiting_catalog() -> Catalog<App> {
    let slow = App::tool("slow", "Waits in every hook").reads().visible_text(|text, cx: &Caller| {
        wait(cx);
        text
    });
    let slow = slow.available(|cx| {
        wait(cx);
        true
    });
    let outputs = [Protocol::new("reply", "Answers", json!({ "type": "object" }))];
    let options = Options::new().outputs(outputs).model_outputs(|cx| {
        wait(cx);
        Vec::new()
    });
    let mut registry: Registry<App> = Registry::with_options(options).unwrap();
    let plain = App::tool("plain", "Echoes").reads().input_schema(json!({ "type": "object" }));
    registry.register(slow.run_json(|value, _| async move { Ok(value) })).unwrap();
    registry.register(plain.run_json(|value, _| async move { Ok(value) })).unwrap();
    registry.seal()
}

/// Everything that reads, and a call.
fn reads_and_calls(catalog: &Catalog<App>) {
    let cx = Caller { waits: None, arrived: None };
    assert!(catalog.get("plain").is_some() && catalog.has("slow") && !catalog.has_delegate("slow"));
    assert_eq!(catalog.describe(Some("model"), Some(&cx)).len(), 2);
    assert_eq!((catalog.protocols().len(), catalog.model_protocols(&cx).unwrap().len()), (3, 3));
    assert_eq!(catalog.visible_text("text", &cx).unwrap(), "text");
    assert_eq!(catalog.select("plain", json!({ "a": 1 }), &cx).unwrap(), json!({ "a": 1 }));
    assert!(catalog.intents(&cx).is_empty() && !catalog.is_terminal("plain"));
    catalog.warm();
    let result = block_on(catalog.invoke(Invocation::new("plain", json!({ "a": 1 })), cx)).unwrap();
    assert_eq!(result.value(), &json!({ "a": 1 }));
}

#[test]
fn whoever_waits_in_a_hook_or_a_port_keeps_nobody_from_reading_or_calling() {
    let catalog = waiting_catalog();
    let blocked: [fn(&Catalog<App>, &Caller); 3] = [
        |catalog, cx| drop(catalog.visible_text("text", cx)),
        |catalog, cx| drop(catalog.describe(None, Some(cx))),
        |catalog, cx| drop(catalog.model_protocols(cx)),
    ];
    for block in blocked {
        let ((arrived, has_come), (go, waits)) = (mpsc::channel(), mpsc::channel());
        let (inside, other) = (catalog.clone(), catalog.clone());
        let cx = Caller { waits: Some(Mutex::new(waits)), arrived: Some(Mutex::new(arrived)) };
        let waiting = thread::spawn(move || block(&inside, &cx));
        has_come.recv_timeout(Duration::from_secs(60)).unwrap();
        let (done, outcome) = mpsc::channel();
        thread::spawn(move || {
            reads_and_calls(&other);
            done.send(()).unwrap();
        });
        outcome.recv_timeout(Duration::from_secs(60)).expect("the others do not wait");
        for _ in 0..4 {
            let _ = go.send(());
        }
        waiting.join().unwrap();
    }
}

/// What would make readers meet: locks, cells, and counters that several threads write.
const SHARED: [&str; 14] = [
    "Mutex",
    "RwLock",
    "Condvar",
    "Atomic",
    "ArcSwap",
    "OnceLock",
    "OnceCell",
    "LazyLock",
    "LazyCell",
    "RefCell",
    "UnsafeCell",
    "Cell",
    "Weak",
    "thread_local",
];

/// The source of everything that reading goes through: what a view holds, and what is asked of it.
const READ: [(&str, &str); 15] = [
    ("catalog/view.rs", include_str!("../../src/catalog/view.rs")),
    ("catalog/listing.rs", include_str!("../../src/catalog/listing.rs")),
    ("catalog/folds.rs", include_str!("../../src/catalog/folds.rs")),
    ("fingerprint.rs", include_str!("../../src/fingerprint.rs")),
    ("lifecycle.rs", include_str!("../../src/lifecycle.rs")),
    ("lifecycle/folds.rs", include_str!("../../src/lifecycle/folds.rs")),
    ("lifecycle/hooks.rs", include_str!("../../src/lifecycle/hooks.rs")),
    ("lifecycle/parts.rs", include_str!("../../src/lifecycle/parts.rs")),
    ("options.rs", include_str!("../../src/options.rs")),
    ("policy.rs", include_str!("../../src/policy.rs")),
    ("protocol.rs", include_str!("../../src/protocol.rs")),
    ("registry.rs", include_str!("../../src/registry.rs")),
    ("schema.rs", include_str!("../../src/schema.rs")),
    ("tool.rs", include_str!("../../src/tool.rs")),
    ("composite.rs", include_str!("../../src/composite.rs")),
];

/// Those that are there, and why no reader meets another at them. Written once, before or beside the reading.
const EXCEPTIONS: [(&str, &str, &str); 6] = [
    (
        "catalog/view.rs",
        "OnceLock",
        "where a composite's run finds its catalogue: written by the seal, and no way of reading leads there; \
         and the hash of all, as those of `fingerprint.rs`",
    ),
    ("catalog/view.rs", "Weak", "the same"),
    ("fingerprint.rs", "OnceLock", "hashes: two that ask at once both make them, then one is kept, and nobody waits"),
    ("schema.rs", "OnceLock", "a validator, built by the first call or by `warm`; listings show the schema beside it"),
    ("tool.rs", "OnceLock", "where the path of a run begins, made by the first run"),
    ("composite.rs", "Mutex", "programs between two runs of a composite"),
];

/// The identifiers of a source file, without comments and texts.
fn identifiers(source: &str) -> Vec<&str> {
    let code = source.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code));
    code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_')).filter(|word| !word.is_empty()).collect()
}

#[test]
fn what_is_read_holds_no_lock_and_no_counter_that_readers_share() {
    let mut found: Vec<(&str, &str)> = Vec::new();
    for (file, source) in READ {
        for word in identifiers(source) {
            let shared = SHARED.iter().any(|shared| word == *shared || (*shared == "Atomic" && word.starts_with(shared)));
            if shared && !found.contains(&(file, word)) {
                found.push((file, word));
            }
        }
    }
    let known: Vec<(&str, &str)> = EXCEPTIONS.iter().map(|(file, word, _)| (*file, *word)).collect();
    assert_eq!(found, known, "a reader must not wait for another: move it out, or say in EXCEPTIONS why nobody meets at it");
}

#[test]
fn the_scan_sees_code_and_no_comments() {
    assert_eq!(identifiers("let a: Mutex<u8> = b; // RwLock\n/// Cell\nAtomicU8"), ["let", "a", "Mutex", "u8", "b", "AtomicU8"]);
}
