//! The body of an asynchronous function with a probe.

use super::Site;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Wraps a future so that each poll enters and leaves `site`; all polls together count as one call.
///
/// It is a structure instead of an `async` block, which would store the future twice: as its captured value and as the
/// polled future.
pub fn probed<F: Future>(site: &'static Site, future: F) -> Probed<F> {
    Probed { site, polled: false, future }
}

/// Future with a probe, see [`probed`].
pub struct Probed<F> {
    site: &'static Site,
    polled: bool,
    future: F,
}

impl<F: Future> Future for Probed<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: `future` is never moved, because the structure implements neither Drop nor Unpin; the other fields
        // are never pinned.
        let (site, polled, future) = unsafe {
            let this = self.get_unchecked_mut();
            (this.site, &mut this.polled, Pin::new_unchecked(&mut this.future))
        };
        let _guard = if std::mem::replace(polled, true) { site.resume() } else { site.enter() };
        future.poll(context)
    }
}
