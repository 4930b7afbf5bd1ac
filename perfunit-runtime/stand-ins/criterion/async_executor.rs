//! Executors for the futures of asynchronous benchmarks.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

pub trait AsyncExecutor {
    fn block_on<T>(&self, future: impl Future<Output = T>) -> T;
}

impl<E: AsyncExecutor> AsyncExecutor for &E {
    fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        (*self).block_on(future)
    }
}

/// The executors that criterion names. All of them poll in this thread and sleep until they are woken.
macro_rules! executors {
    ($($name:ident)*) => {
        $(
            pub struct $name;

            impl AsyncExecutor for $name {
                fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
                    in_this_thread(future)
                }
            }
        )*
    };
}

executors! { FuturesExecutor SmolExecutor AsyncStdExecutor }

struct ThreadWaker(Thread);

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

thread_local! {
    /// Created once, so that only the benchmark's own allocations are counted.
    static WAKER: Waker = Waker::from(Arc::new(ThreadWaker(thread::current())));
}

fn in_this_thread<T>(future: impl Future<Output = T>) -> T {
    let waker = WAKER.with(Waker::clone);
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

#[cfg(perfunit_tokio)]
mod of_tokio {
    use super::AsyncExecutor;
    use std::future::Future;

    impl AsyncExecutor for tokio::runtime::Runtime {
        fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
            self.block_on(future)
        }
    }

    impl AsyncExecutor for tokio::runtime::Handle {
        fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
            self.block_on(future)
        }
    }
}
