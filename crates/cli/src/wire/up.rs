//! `sealstone wire up`: this end of a tunnel, in the foreground or as a separate process.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sealstone_seal::esp::Suite;
use sealstone_wire::tunnel::{
    Claim, Config, Event, Guards, Keys, ManualService, Plan, RuntimeDir, Service, ServiceError,
};

use crate::flags::WireUp;
use crate::key_source::{self, Opening};
use crate::message::{Answer, say};
use crate::{background, interrupt};

/// Warning about associations with one key for both directions, where that is not refused.
const ONE_KEY: &str =
    "both directions have one key: it seals twice as much as it should before it ends";

/// Starts a tunnel.
pub(crate) fn run(flags: &WireUp) -> anyhow::Result<Answer> {
    let file = flags.config.as_deref().map(Config::read).transpose()?.unwrap_or_default();
    let plan = flags.settings.config().over(file).plan()?;
    if flags.foreground { foreground(flags, &plan) } else { in_background(&plan) }
}

/// Starts this program again as a separate process, and waits until its tunnel is set up.
fn in_background(plan: &Plan) -> anyhow::Result<Answer> {
    if let Keys::Agreed(agreed) = &plan.keys {
        warn(agreed.suite);
    }
    background::start(&["--foreground", "--detached"], "the tunnel")?;
    let name = &plan.name;
    say(&format!("tunnel {name} is set up; see: sealstone wire status {name}"));
    if let Some(guard) = &plan.guard {
        say(&format!(
            "guard: nothing goes to {} but through it, also once it ended",
            guard.listed()
        ));
    }
    say(&format!("to end it: sealstone wire down {name}"));
    Ok(Answer::Done)
}

fn foreground(flags: &WireUp, plan: &Plan) -> anyhow::Result<Answer> {
    let runtime = RuntimeDir::open(flags.runtime.runtime_dir.as_deref())?;
    let claim = runtime.claim(&plan.name)?;
    let guards = Guards(&runtime);
    let before = guards.get(&plan.name)?;
    let start = || {
        // before anything else: while keys are fetched, nothing goes another way
        let put = plan.guard.as_ref().map(|guard| guards.put(&plan.name, guard)).transpose()?;
        if let Some(without) = put.flatten() {
            say(&format!("warning: {without}"));
        }
        set_up(plan, claim, flags.detached)
    };
    let Ready { run, stop } = match start() {
        Ok(ready) => ready,
        Err(error) => {
            // a start that failed leaves what it found
            guards.restore(&plan.name, before.as_ref())?;
            return Err(error);
        }
    };
    if plan.guard.is_none() {
        guards.remove(&plan.name)?;
    }
    tell_ready(plan, flags.detached)?;
    let ended = run(&stop);
    if let (Some(guard), false) = (&plan.guard, flags.detached) {
        say(&format!("its guard stays: nothing goes to {}", guard.listed()));
        say(&format!("to remove it: sealstone wire down {} --remove-guard", plan.name));
    }
    ended?;
    Ok(Answer::Done)
}

/// Carries packets until the flag is set.
type Run = Box<dyn FnOnce(&AtomicBool) -> Result<(), ServiceError>>;

/// A tunnel that is set up, and what ends it.
struct Ready {
    run: Run,
    stop: Arc<AtomicBool>,
}

fn set_up(plan: &Plan, claim: Claim, detached: bool) -> anyhow::Result<Ready> {
    let tell = move |event: &Event| {
        // a separate process cannot report it: `status` shows it
        if !detached {
            say(&event.to_string());
        }
    };
    match &plan.keys {
        Keys::Agreed(agreed) => {
            let passphrase_file = agreed.passphrase_file.as_deref();
            let opening = Opening { passphrase_file, ..Opening::default() };
            let keys = key_source::open(&agreed.key, opening)?;
            let stop = stop_on_a_signal()?;
            if !detached {
                warn(agreed.suite);
            }
            let service = Service::set_up(plan, agreed, keys, claim, Box::new(tell))?;
            Ok(Ready { run: Box::new(move |stop| service.run(stop)), stop })
        }
        Keys::Manual(keys) => {
            let stop = stop_on_a_signal()?;
            let service = ManualService::set_up(plan, keys, claim, Box::new(tell))?;
            warn(service.suite());
            if service.has_one_key() {
                say(&format!("warning: {ONE_KEY} (in {})", keys.file.display()));
            }
            Ok(Ready { run: Box::new(move |stop| service.run(stop)), stop })
        }
    }
}

fn stop_on_a_signal() -> anyhow::Result<Arc<AtomicBool>> {
    interrupt::install_saying("ending the tunnel", "ended at once".into())
}

/// Reports that the tunnel is set up, to the process that waits for it.
fn tell_ready(plan: &Plan, detached: bool) -> anyhow::Result<()> {
    if detached {
        background::ready()?;
    } else {
        say(&format!("tunnel {} is set up", plan.name));
    }
    Ok(())
}

fn warn(suite: &Suite) {
    for caveat in suite.caveats() {
        say(&format!("warning: suite {}: {caveat}", suite.name));
    }
}
