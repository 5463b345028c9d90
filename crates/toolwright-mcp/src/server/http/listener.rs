//! Connections: accepted one by one, bounded in number and in patience, and closed in order at the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use toolwright::CancelToken;

use super::endpoint::Endpoint;
use super::patience::Patient;
use super::{HttpLimits, HttpListener};

/// Bytes of the head of a request, and of what is read ahead.
const HEAD_BYTES_MAX: usize = 64 * 1024;
/// How long one waits after a connection could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long connections may take to close at the end.
const CLOSE_WAIT: Duration = Duration::from_secs(1);

/// Serves until `stop` is cancelled, and then until no call runs any more.
pub(super) async fn serve(bound: HttpListener, stop: CancelToken) {
    let HttpListener { listener, address, engine, options } = bound;
    engine.begin();
    let endpoint = Endpoint::new(engine.clone(), &options, address);
    let room = Arc::new(Semaphore::new(options.limits.connections_max));
    let mut connections = JoinSet::new();
    let mut sweep = tokio::time::interval(endpoint.sessions.sweep_every());
    sweep.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let accepted = async {
            let place = room.clone().acquire_owned().await;
            (listener.accept().await, place)
        };
        tokio::select! {
            () = stop.cancelled() => break,
            _ = sweep.tick() => endpoint.sessions.sweep(&engine),
            Some(_) = connections.join_next() => {}
            (accepted, place) = accepted => match accepted {
                Ok((socket, _)) => {
                    let connection = connection(socket, endpoint.clone(), options.limits, stop.clone());
                    connections.spawn(async move {
                        connection.await;
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    endpoint.sessions.end_standing();
    engine.stop().await;
    let closed = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(CLOSE_WAIT, closed).await;
    connections.shutdown().await;
    endpoint.sessions.end_all(&engine);
}

/// One connection, from its first request to its last. Once the server stops, it takes no further request.
async fn connection(socket: TcpStream, endpoint: Arc<Endpoint>, limits: HttpLimits, stop: CancelToken) {
    // Without it, small events wait for the acknowledgement of the one before: 40 ms each.
    let _ = socket.set_nodelay(true);
    let spoken = Arc::new(AtomicBool::new(false));
    let speaks = spoken.clone();
    let service = service_fn(move |request| {
        speaks.store(true, Ordering::Relaxed);
        endpoint.clone().answer(request)
    });
    let io = TokioIo::new(Patient::new(socket, limits.write_stall));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_wait)
        .max_buf_size(HEAD_BYTES_MAX)
        .serve_connection(io, service);
    let mut served = std::pin::pin!(served);
    tokio::select! {
        _ = served.as_mut() => return,
        () = still_silent(limits.first_head_wait, &spoken) => return,
        () = stop.cancelled() => served.as_mut().graceful_shutdown(),
    }
    let _ = served.await;
}

/// Ends when no whole request came in that time; never when one did.
async fn still_silent(wait: Duration, spoken: &AtomicBool) {
    tokio::time::sleep(wait).await;
    if spoken.load(Ordering::Relaxed) {
        std::future::pending::<()>().await;
    }
}
