//! The body of an asynchronous function with a probe.

use super::Site;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Enters `site` whenever the future is polled and leaves it at the end of the poll; counts one call in all.
///
/// A structure of its own and no `async` block, which would keep the future twice: as what it was given and as what it polls.
pub fn probed<F: Future>(site: &'static Site, future: F) -> Probed<F> {
    Probed { site, polled: false, future }
}

/// See [`probed`].
pub struct Probed<F> {
    site: &'static Site,
    polled: bool,
    future: F,
}

impl<F: Future> Future for Probed<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: `future` is moved neither here nor elsewhere, for the structure implements neither Drop nor Unpin by hand;
        // the other fields are never pinned.
        let (site, polled, future) = unsafe {
            let this = self.get_unchecked_mut();
            (this.site, &mut this.polled, Pin::new_unchecked(&mut this.future))
        };
        let _guard = if std::mem::replace(polled, true) { site.resume() } else { site.enter() };
        future.poll(context)
    }
}
