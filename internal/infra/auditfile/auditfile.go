// Package auditfile says how the entries of an audit log are chained, and reads and verifies files of them without a
// server.
//
// The entries of a team are numbered from 1 without gaps. The hash of an entry is SHA-256 over netstrings (the length
// in bytes in decimal, a colon, the bytes, a comma) of: Form, the team's id, the number, the hash of the entry before
// (empty for the first), the entry's id, its time, and its other fields in the order of Columns. So an entry that was
// changed does not fit its hash, one that was removed leaves a gap, and one that was moved fits neither its place nor
// its number. Who can write the whole chain anew is found out by the hash of an entry that was noted earlier.
package auditfile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"
)

// Form is the version of what is hashed, and the first field of each hash.
const Form = "vedette-audit-1"

// Entry is an entry of the log as it is hashed and exported.
type Entry struct {
	TeamID    string `json:"team_id"`
	Seq       int64  `json:"seq"` // 1, 2, 3, …
	ID        string `json:"id"`
	CreatedAt string `json:"created_at"` // as Time writes it
	UserID    string `json:"user_id"`
	Email     string `json:"email"`
	Action    string `json:"action"`
	Object    string `json:"object_id"`
	Status    int    `json:"status"`
	Method    string `json:"method"`
	Path      string `json:"path"`
	IP        string `json:"ip"`
	Source    string `json:"source"`
	Hash      string `json:"hash"`
}

// Time writes a time as it is hashed: in UTC, with microseconds.
func Time(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// Sum is the hash of the entry after one with the hash prev, in hexadecimal digits.
func (e Entry) Sum(prev string) string {
	h := sha256.New()
	for _, field := range []string{
		Form, e.TeamID, strconv.FormatInt(e.Seq, 10), prev, e.ID, e.CreatedAt, e.UserID, e.Email, e.Action, e.Object,
		strconv.Itoa(e.Status), e.Method, e.Path, e.IP, e.Source,
	} {
		fmt.Fprintf(h, "%d:%s,", len(field), field) // a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Problem is something in a chain that is not as it was written.
type Problem struct {
	Line int    `json:"line,omitempty"` // of a file
	Seq  int64  `json:"seq,omitempty"`
	ID   string `json:"id,omitempty"` // of the entry
	What string `json:"problem"`
}

// MaxProblems is how many problems are named; more are counted.
const MaxProblems = 100

// Report says what was found in a chain.
type Report struct {
	TeamID   string    `json:"team_id"`
	Entries  int       `json:"entries"`
	FirstSeq int64     `json:"first_seq"` // 0: there is none
	LastSeq  int64     `json:"last_seq"`  // 0: there is none
	PrevHash string    `json:"prev_hash"` // what the first follows; empty: it is the first of the team
	LastHash string    `json:"last_hash"`
	Count    int       `json:"problem_count"`
	Problems []Problem `json:"problems"` // the first MaxProblems
}

// IsIntact reports whether nothing was found.
func (r *Report) IsIntact() bool { return r.Count == 0 }

// Add adds a problem.
func (r *Report) Add(p Problem) {
	r.Count++
	if len(r.Problems) < MaxProblems {
		r.Problems = append(r.Problems, p)
	}
}

// Walk checks entries in their order.
type Walk struct {
	Report

	next int64 // the number that is expected
	prev string
}

// NewWalk begins behind the entry with the number after, whose hash is prev; 0 and empty at the beginning of a chain.
func NewWalk(teamID string, after int64, prev string) *Walk {
	return &Walk{Report: Report{TeamID: teamID, PrevHash: prev, LastHash: prev, Problems: []Problem{}}, next: after + 1,
		prev: prev}
}

// Add checks the next entry, which is in a line of a file (0: of none).
func (w *Walk) Add(line int, e Entry) {
	problem := func(format string, args ...any) {
		w.Report.Add(Problem{Line: line, Seq: e.Seq, ID: e.ID, What: fmt.Sprintf(format, args...)})
	}
	fits := e.Sum(w.prev) == e.Hash
	switch {
	case e.TeamID != w.TeamID:
		problem("It belongs to another team.")
	case e.Seq > w.next && e.Seq == w.next+1:
		problem("The entry %d before it is missing.", w.next)
	case e.Seq > w.next:
		problem("The entries %d to %d before it are missing.", w.next, e.Seq-1)
	case e.Seq < w.next:
		problem("It is out of order, or there twice: number %d is expected here.", w.next)
	case !fits:
		problem("It does not fit its hash: this entry, or the hash of the one before it, was changed.")
	}
	if w.Entries == 0 {
		w.FirstSeq = e.Seq
	}
	w.Entries++
	w.LastSeq, w.LastHash = e.Seq, e.Hash
	w.next, w.prev = e.Seq+1, e.Hash
}

// End checks that the chain ends where it is said to end.
func (w *Walk) End(seq int64, hash string) {
	switch {
	case w.next-1 != seq:
		w.Report.Add(Problem{Seq: seq, What: fmt.Sprintf("The chain ends with the entry %d, but should end with %d.", w.next-1, seq)})
	case w.prev != hash:
		w.Report.Add(Problem{Seq: seq, What: "The last entry has another hash than the chain should end with."})
	}
}
