//! What a step costs, in times of this machine; ratios that compare are `cargo xtask bench`.
#![expect(clippy::disallowed_methods, clippy::disallowed_types, reason = "a benchmark is a host: it has a clock and threads")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use toolwright::{BoxFuture, Clock, Timestamp};

mod pipelines;

use pipelines::{Failure, Pipeline, Variant};

/// A real clock: reading it is part of what a governed step costs.
struct Monotonic(Instant);

impl Clock for Monotonic {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.elapsed().as_nanos() as u64)
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
}

fn pipeline(id: &str, variant: Variant) -> Pipeline {
    let made: Result<Pipeline, Failure> = Pipeline::new(id, variant, Arc::new(Monotonic(Instant::now())));
    made.expect("every case of bench/cases.json builds")
}

/// Every case of `bench/cases.json`, bare, governed and watched, beside the base line.
fn steps(criterion: &mut Criterion) {
    let cases = pipelines::cases().expect("bench/cases.json is readable");
    for id in &cases {
        let mut group = criterion.benchmark_group(id);
        group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1)).sample_size(20);
        let variants = [("echo", Variant::Echo), ("bare", Variant::Bare), ("governed", Variant::Governed), ("watched", Variant::Watched)];
        for (name, variant) in variants {
            let pipeline = pipeline(id, variant);
            group.throughput(Throughput::Elements(pipeline.steps));
            group.bench_function(name, |bencher| bencher.iter(|| black_box(&pipeline).run(1)));
        }
        group.finish();
    }
}

/// Two threads on one composite: wall time of both, so as much as one when they share nothing.
fn two_threads(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("two threads on one composite of 10 steps");
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1)).sample_size(20);
    for (name, variant) in [("bare", Variant::Bare), ("governed", Variant::Governed)] {
        let pipeline = pipeline("10 steps, 2 references", variant);
        group.throughput(Throughput::Elements(2 * pipeline.steps));
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|loops| {
                let start = Instant::now();
                std::thread::scope(|scope| {
                    for _ in 0..2 {
                        scope.spawn(|| pipeline.run(loops));
                    }
                });
                start.elapsed()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, steps, two_threads);
criterion_main!(benches);
