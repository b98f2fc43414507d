package run

import "slices"

// Moves is a table of allowed changes of state: from each state, those that may follow.
type Moves[S ~string] map[S][]S

// Allow reports whether a state may follow another.
func (m Moves[S]) Allow(from, to S) bool { return slices.Contains(m[from], to) }

// Before are the states that a state may follow, for the condition of an update.
func (m Moves[S]) Before(to S) (out []S) {
	for from := range m {
		if m.Allow(from, to) {
			out = append(out, from)
		}
	}
	slices.Sort(out) // so that a statement has one text
	return out
}

// Status is the state of a scan or an enumeration: that of its last run.
type Status string

// The states.
const (
	Scheduled Status = "scheduled" // not launched yet
	Queued    Status = "queued"    // launched, waits for a worker
	Starting  Status = "starting"  // is being cut into chunks
	Running   Status = "running"   // workers work on its chunks
	Finished  Status = "finished"  // every chunk has ended
	Failed    Status = "failed"    // there was nothing to run, or no chunk could be run
	Stopped   Status = "stopped"   // a user stopped it
	Deleted   Status = "deleted"   // of an enumeration whose rows a job deletes: no list shows it
)

// moves: Starting follows itself when another worker plans again after a crash; a launch
// after the end is a new run.
var moves = Moves[Status]{
	Scheduled: {Queued},
	Queued:    {Starting, Failed, Stopped},
	Starting:  {Starting, Running, Failed, Stopped},
	Running:   {Finished, Failed, Stopped},
	Finished:  {Queued},
	Failed:    {Queued},
	Stopped:   {Queued},
}

// To reports whether next may follow this state.
func (s Status) To(next Status) bool { return moves.Allow(s, next) }

// Active reports whether a run in this state has work left.
func (s Status) Active() bool { return s == Queued || s == Starting || s == Running }

// ChunkState is the state of a chunk.
type ChunkState string

// The states of a chunk.
const (
	ChunkWaiting ChunkState = "waiting"
	ChunkRunning ChunkState = "running"
	ChunkDone    ChunkState = "done"
	ChunkFailed  ChunkState = "failed"  // given up after its last attempt
	ChunkStopped ChunkState = "stopped" // its run was stopped
)

// chunkMoves: Running follows itself when another worker takes over a lease.
var chunkMoves = Moves[ChunkState]{
	ChunkWaiting: {ChunkRunning, ChunkFailed, ChunkStopped},
	ChunkRunning: {ChunkRunning, ChunkDone, ChunkFailed, ChunkStopped},
}
