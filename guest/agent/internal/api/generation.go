package api

// Generation numbers the agent's protocol. The agent inside a snapshot is as old as the snapshot, so a newer host meets it
// as it is:
//
//   - a new field is optional, both ways, and an unknown one is ignored: the number stays;
//   - a new route, frame type or meaning raises the number, and the host uses it only with an agent that tells so;
//   - nothing is removed or changes its meaning.
//
// 1: everything but what is named below. 2: POST /quiesce. 3: merge_output and detach of exec; the routes terminal, resize,
// signal, tunnel, tunnel/accept and CONNECT. 4: POST /drives/mount and /drives/freeze. 5: POST /files/pack and /files/unpack. 6: AWAKE,
// between the hello and HTTP/2. 7: NAMED, behind that.
const Generation = 7

// Version is the release of the agent, for people to read.
const Version = "0.1.0"
