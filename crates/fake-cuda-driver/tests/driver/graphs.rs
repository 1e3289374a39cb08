//! Tests of captured work, which is launched as a graph of the driver. All work is deferred until a
//! call waits for it.

use crate::{Session, without_waiting};
use fake_cuda_driver::Fault;
use warpnest::{Answers, Buffer, Error, Graph, PageMap, Result, Stream};

/// Launches a graph.
fn launch(graph: &Graph, stream: &Stream) -> Result<()> {
    // SAFETY: no test changes a captured table, and one thread uses what was captured.
    unsafe { graph.launch(stream) }
}

#[test]
fn a_graph_is_one_call_and_waits_for_nothing() {
    let session = Session::new();
    let device = session.device(0);
    session.driver.defer(true);
    let (stream, other) = (device.stream().unwrap(), device.stream().unwrap());
    let keys: Vec<u32> = (0..200).collect();
    let map = PageMap::build(&device, &keys, &keys).unwrap();
    let mut queries = Buffer::from_slice(&device, &keys).unwrap();
    let mut answers = Answers::new(&device, 200).unwrap();
    let mut copy = Buffer::<u32>::zeroed(&device, 200).unwrap();
    map.get_many_into(&stream, &queries, &mut answers).unwrap();
    let captured = stream.capture(|| {
        map.get_many_into(&stream, &queries, &mut answers)?;
        copy.copy_from(&stream, answers.values())
    });
    let graph = captured.unwrap();
    assert_eq!(session.held(&device).graphs, 1);
    let launches = || ["cuLaunchKernel", "cuGraphLaunch"].map(|call| session.driver.calls(call));
    let before = launches();
    without_waiting(&session, || launch(&graph, &stream).unwrap());
    assert_eq!(launches(), [before[0], before[1] + 1]);
    // Another stream's work is behind the first launch and before the second.
    queries.upload(&other, &vec![7; 200]).unwrap();
    launch(&graph, &other).unwrap();
    queries.upload(&stream, &vec![999; 200]).unwrap();
    assert_eq!(copy.download(&stream).unwrap(), [7; 200]);
    launch(&graph, &stream).unwrap();
    drop(graph);
    assert_eq!(answers.download(&other).unwrap(), [None; 200]);
    assert_eq!(session.held(&device).graphs, 0);
}

#[test]
fn whatever_fails_the_stream_is_not_captured_afterwards() {
    let session = Session::new();
    let device = session.device(0);
    let stream = device.default_stream();
    let mut buffer = Buffer::<u32>::zeroed(&device, 10).unwrap();
    let before = session.held(&device);
    for call in [
        "cuStreamCreate",
        "cuStreamBeginCapture_v2",
        "cuMemsetD8Async",
        "cuStreamEndCapture",
        "cuGraphInstantiateWithFlags",
    ] {
        session.driver.plant(Fault::next(call, 4242));
        let error = stream.capture(|| buffer.fill(stream, 7)).unwrap_err();
        assert!(matches!(error, Error::Driver { code: 4242, .. }), "{call}: {error:?}");
        buffer.fill(stream, 1).unwrap();
        assert_eq!(buffer.download(stream).unwrap(), [0x01010101; 10], "{call}");
    }
    let graph = stream.capture(|| buffer.fill(stream, 7)).unwrap();
    session.driver.plant(Fault::next("cuGraphLaunch", 4242));
    assert!(matches!(launch(&graph, stream), Err(Error::Driver { code: 4242, .. })));
    launch(&graph, stream).unwrap();
    assert_eq!(buffer.download(stream).unwrap(), [0x07070707; 10]);
    drop(graph);
    let after = session.held(&device);
    assert_eq!((before.streams, before.graphs), (after.streams, after.graphs));
}
