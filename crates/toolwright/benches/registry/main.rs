//! What a catalogue of 1,000 tools costs to seal and to read, in times of this machine; ratios that compare are
//! `cargo xtask bench`.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};

mod catalogue;

use catalogue::{Figure, Measurement};

fn figures(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("catalogue of 1,000 tools");
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1)).sample_size(10);
    for (name, figure) in Figure::ALL {
        let measurement = Measurement::new(figure).expect("the catalogue is right");
        group.bench_function(name, |bencher| bencher.iter(|| black_box(&measurement).run(1)));
    }
    group.finish();
}

criterion_group!(benches, figures);
criterion_main!(benches);
