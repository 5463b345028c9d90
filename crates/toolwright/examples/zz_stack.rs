#![expect(clippy::print_stdout, reason = "x")]
use toolwright::prelude::*;
use std::sync::Mutex;
static AT: Mutex<Vec<usize>> = Mutex::new(Vec::new());
fn main() {
    let t = std::thread::Builder::new().stack_size(64<<20).spawn(|| {
        let mut r = Registry::with_policy(Policy::new().limit_calls(20));
        r.register(tool("me", "Calls itself").reads().run_json(|v, call: Call| async move {
            let x = 0u8; AT.lock().unwrap().push(&raw const x as usize);
            call.invoke("me", v).await.map(|r| r.value().clone()).map_err(ToolError::from)
        })).unwrap();
        let c = r.seal();
        let rt = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let e = rt.block_on(c.invoke(Invocation::new("me", json!({})), ())).err().unwrap();
        println!("{}", e.code());
        let at = AT.lock().unwrap();
        println!("{:?}", at.windows(2).map(|w| w[0]-w[1]).collect::<Vec<_>>());
        let fut = c.invoke(Invocation::new("me", json!({})), ());
        println!("future {}", std::mem::size_of_val(&fut));
    }).unwrap(); t.join().unwrap();
}
