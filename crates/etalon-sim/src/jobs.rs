//! Applications: who is woken by which flow.

use etalon_measure::results::Write;
use etalon_scenario::{Flow, Scenario, ScenarioError};
use etalon_units::Time;

use crate::hdfs::{Job, Network, Role};
use crate::world::Sockets;

/// The jobs of a plan.
pub(crate) struct Jobs {
    jobs: Vec<Job>,
    /// Number of the first flow that jobs opened.
    first: u32,
    /// For each of them its job, and what it is there.
    owners: Vec<(u32, Role)>,
}

impl Jobs {
    pub(crate) fn new(plan: &Scenario) -> Result<Jobs, ScenarioError> {
        let jobs = plan.dfsio.iter().enumerate();
        Ok(Jobs {
            jobs: jobs
                .map(|(index, job)| Job::new(plan, index as u32, job))
                .collect::<Result<_, _>>()?,
            first: plan.flows.len() as u32,
            owners: Vec::new(),
        })
    }

    /// A job begins.
    pub(crate) fn start(&mut self, now: Time, job: u32, sockets: &mut impl Sockets) {
        let owners = &mut self.owners;
        let mut sockets = Owned { owners, sockets };
        self.jobs[job as usize].start(now, &mut sockets);
    }

    /// The application at the endpoint `index` of a job's flow has received `total` bytes in all.
    pub(crate) fn received(
        &mut self,
        now: Time,
        index: u32,
        total: u64,
        sockets: &mut impl Sockets,
    ) {
        let flow = index >> 1;
        let (job, role) = self.owners[(flow - self.first) as usize];
        let owners = &mut self.owners;
        let mut sockets = Owned { owners, sockets };
        let job = &mut self.jobs[job as usize];
        if index & 1 == 1 {
            job.data_received(now, (role, flow), total, &mut sockets);
        } else {
            job.answer_received(now, (role, flow), total, &mut sockets);
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.jobs.iter().all(Job::is_done)
    }

    pub(crate) fn writes(&self) -> Vec<Write> {
        self.jobs.iter().flat_map(Job::writes).collect()
    }
}

/// Sockets that remember who opened which flow.
pub(crate) struct Owned<'a, S> {
    owners: &'a mut Vec<(u32, Role)>,
    sockets: &'a mut S,
}

impl<S: Sockets> Network for Owned<'_, S> {
    fn connect(&mut self, now: Time, job: u32, role: Role, flow: Flow) -> u32 {
        self.owners.push((job, role));
        self.sockets.connect(now, job, flow)
    }

    fn write(&mut self, now: Time, stream: u32, bytes: u64) {
        self.sockets.write(now, stream, bytes);
    }

    fn shutdown(&mut self, now: Time, flow: u32) {
        self.sockets.shutdown(now, flow);
    }
}
