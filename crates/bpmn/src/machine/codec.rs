//! Saved states contain the ids of the source, never positions in compiled code.
//!
//! [`NodeRef`] and [`FlowRef`] are written as ids and looked up by id, so a newer release may
//! compile the same source differently.

use meantime_core::{Fault, State};
use minicbor::decode::{Decoder, Error as DecodeError};
use minicbor::encode::{Encoder, Error as EncodeError, Write};
use minicbor::{Decode, Encode};

use super::state::ProcessState;
use crate::model::{FlowRef, NodeRef, Process};

/// The format of a saved state.
const FORMAT: u16 = 1;

/// Maps the nodes and flows of a process to their ids and back.
pub(crate) trait ProcessIds {
    fn process(&self) -> &Process;
}

impl ProcessIds for &Process {
    fn process(&self) -> &Process {
        self
    }
}

/// Saves an instance.
pub(crate) fn save(process: &Process, instance: &ProcessState) -> Result<State, Fault> {
    let bytes = minicbor::to_vec_with(instance, &mut &*process).map_err(|error| bad(&error))?;
    Ok(State::new(FORMAT, bytes))
}

/// Loads a state that [`save`] wrote.
pub(crate) fn load(process: &Process, state: &State) -> Result<ProcessState, Fault> {
    if state.format != FORMAT {
        let text = format!("format {} is not known to this release", state.format);
        return Err(Fault::new("bad_state", text));
    }
    let mut instance: ProcessState =
        minicbor::decode_with(&state.bytes, &mut &*process).map_err(|error| bad(&error))?;
    instance.count();
    Ok(instance)
}

fn bad(error: &dyn std::fmt::Display) -> Fault {
    Fault::new("bad_state", error.to_string())
}

impl<C: ProcessIds> Encode<C> for NodeRef {
    fn encode<W: Write>(
        &self,
        e: &mut Encoder<W>,
        names: &mut C,
    ) -> Result<(), EncodeError<W::Error>> {
        e.str(&names.process().node(*self).id)?.ok()
    }
}

impl<'b, C: ProcessIds> Decode<'b, C> for NodeRef {
    fn decode(d: &mut Decoder<'b>, names: &mut C) -> Result<Self, DecodeError> {
        let id = d.str()?;
        let found = names.process().node_ids.get(id).copied();
        found.ok_or_else(|| DecodeError::message(format!("there is no element `{id}`")))
    }
}

impl<C: ProcessIds> Encode<C> for FlowRef {
    fn encode<W: Write>(
        &self,
        e: &mut Encoder<W>,
        names: &mut C,
    ) -> Result<(), EncodeError<W::Error>> {
        e.str(&names.process().flow(*self).id)?.ok()
    }
}

impl<'b, C: ProcessIds> Decode<'b, C> for FlowRef {
    fn decode(d: &mut Decoder<'b>, names: &mut C) -> Result<Self, DecodeError> {
        let id = d.str()?;
        let found = names.process().flow_ids.get(id).copied();
        found.ok_or_else(|| DecodeError::message(format!("there is no flow `{id}`")))
    }
}
