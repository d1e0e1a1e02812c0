//! The workloads of Benchmarks on tokio's paused clock, whose time moves by milliseconds.
//!
//! Usage: tokio-peer WORKLOAD COUNT; prints the nanoseconds (or bytes) per operation. Like the other
//! programs, it runs the work once to warm up, then at least three times and for at least 0.2
//! seconds, and prints the median.

use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;
use std::time::Instant as RealInstant;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{yield_now, JoinHandle, LocalSet};
use tokio::time::{advance, sleep, sleep_until, Duration, Instant};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let count: usize = match arguments.get(2).and_then(|text| text.parse().ok()) {
        Some(count) => count,
        None => return eprintln!("usage: tokio-peer WORKLOAD COUNT"),
    };
    let workload: fn(usize) -> f64 = match arguments[1].as_str() {
        "loop" => looping,
        "wake-distinct" => |count| wake(&shuffled(count)),
        "wake-equal" => |count| wake(&vec![1; count]),
        "register" => register,
        "cancel" => cancel,
        "advance-past-nothing" => advance_past_nothing,
        "parallel-tests" => parallel_tests,
        "bytes" => return println!("{}", bytes(count)),
        other => {
            eprintln!("tokio-peer: there is no workload '{other}'");
            std::process::exit(64);
        }
    };
    workload(count);
    let begin = RealInstant::now();
    let mut times = Vec::new();
    while times.len() < 3 || begin.elapsed().as_millis() < 200 {
        times.push(workload(count));
    }
    times.sort_by(f64::total_cmp);
    println!("{}", times[times.len() / 2]);
}

fn paused() -> Runtime {
    Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

/// Returns the numbers from 1 to `count` in a random order that is the same in every run.
fn shuffled(count: usize) -> Vec<u64> {
    let mut numbers: Vec<u64> = (1..=count as u64).collect();
    let mut state: u64 = 42;
    for position in (1..numbers.len()).rev() {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        numbers.swap(position, (state >> 33) as usize % (position + 1));
    }
    numbers
}

/// Returns the nanoseconds per operation.
fn per(count: usize, begin: RealInstant) -> f64 {
    begin.elapsed().as_nanos() as f64 / count as f64
}

/// Runs `body`, whose tasks stay on this thread.
fn on_this_thread<R>(body: impl Future<Output = R>) -> R {
    let runtime = paused();
    runtime.block_on(body)
}

/// Starts a task for each deadline, which sleeps once. `asleep` counts the sleeping tasks. A task
/// without a handle is freed when it ends.
fn start(deadlines: &[u64], asleep: &'static Asleep) -> Vec<JoinHandle<()>> {
    let begin = Instant::now();
    deadlines
        .iter()
        .map(|deadline| {
            let deadline = begin + Duration::from_millis(*deadline);
            tokio::spawn(async move {
                let _ended = asleep.one_more();
                sleep_until(deadline).await;
            })
        })
        .collect()
}

/// The number of sleeping tasks. Atomic only for the compiler: there is one thread.
struct Asleep(std::sync::atomic::AtomicUsize);
struct End(&'static Asleep);

impl Asleep {
    fn new() -> &'static Asleep {
        Box::leak(Box::new(Asleep(Default::default())))
    }

    fn one_more(&'static self) -> End {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        End(self)
    }

    async fn becomes(&self, count: usize) {
        while self.0.load(std::sync::atomic::Ordering::Relaxed) != count {
            yield_now().await;
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.0 .0.fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
    }
}

fn wake(deadlines: &[u64]) -> f64 {
    on_this_thread(async {
        let asleep = Asleep::new();
        drop(start(deadlines, asleep));
        asleep.becomes(deadlines.len()).await;
        let begin = RealInstant::now();
        sleep(Duration::from_millis(deadlines.len() as u64 + 1)).await;
        asleep.becomes(0).await;
        per(deadlines.len(), begin)
    })
}

fn register(count: usize) -> f64 {
    let deadlines = shuffled(count);
    on_this_thread(async {
        let asleep = Asleep::new();
        let begin = RealInstant::now();
        drop(start(&deadlines, asleep));
        asleep.becomes(count).await;
        per(count, begin)
    })
}

fn cancel(count: usize) -> f64 {
    let order = shuffled(count);
    let deadlines: Vec<u64> = (1..=count as u64).collect();
    on_this_thread(async {
        let asleep = Asleep::new();
        let tasks = start(&deadlines, asleep);
        asleep.becomes(count).await;
        let begin = RealInstant::now();
        for number in &order {
            tasks[*number as usize - 1].abort();
        }
        asleep.becomes(0).await;
        per(count, begin)
    })
}

fn looping(count: usize) -> f64 {
    on_this_thread(async {
        let start = Instant::now();
        let task = tokio::spawn(async move {
            for tick in 1..=count as u64 {
                sleep_until(start + Duration::from_millis(tick)).await;
            }
        });
        yield_now().await;
        let begin = RealInstant::now();
        task.await.unwrap();
        per(count, begin)
    })
}

fn advance_past_nothing(count: usize) -> f64 {
    on_this_thread(async {
        let begin = RealInstant::now();
        for _ in 0..count {
            advance(Duration::from_millis(1)).await;
        }
        per(count, begin)
    })
}

/// Runs the tests on one thread per processor, like a test runner.
fn parallel_tests(count: usize) -> f64 {
    let threads = std::thread::available_parallelism().map_or(1, |number| number.get());
    let next = std::sync::atomic::AtomicUsize::new(0);
    let begin = RealInstant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while next.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < count {
                    one_test();
                }
            });
        }
    });
    per(count, begin)
}

fn one_test() {
    LocalSet::new().block_on(&paused(), async {
        let ticks = Rc::new(Cell::new(0));
        let seen = ticks.clone();
        let ticker = tokio::task::spawn_local(async move {
            for _ in 0..20 {
                sleep(Duration::from_secs(1)).await;
                seen.set(seen.get() + 1);
            }
        });
        yield_now().await;
        for _ in 0..20 {
            advance(Duration::from_secs(1)).await;
        }
        ticker.await.unwrap();
        assert_eq!(ticks.get(), 20);
    });
}

fn resident_bytes() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: f64 = text.split(' ').nth(1).and_then(|text| text.parse().ok()).unwrap_or(0.0);
    pages * 4096.0
}

fn bytes(count: usize) -> f64 {
    let deadlines: Vec<u64> = (1..=count as u64).collect();
    on_this_thread(async {
        let asleep = Asleep::new();
        let before = resident_bytes();
        for deadline in &deadlines {
            let _ = start(std::slice::from_ref(deadline), asleep);
        }
        asleep.becomes(count).await;
        (resident_bytes() - before) / count as f64
    })
}
