// Package chain keeps the evidence of a team as a chain: an entry for each batch of records that is stored together, in
// the transaction that stores them. Package evidence says what is hashed.
//
// Who appends holds the lock of the team's findings, so that the chain is one, on however many nodes.
package chain

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/evidence"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// Proof is how a sighting can be shown again.
type Proof struct {
	Template string `json:"template,omitempty"` // empty: the event's
	Digest   string `json:"digest,omitempty"`   // of the template's text; empty: it is not known
	Shown    int    `json:"shown,omitempty"`    // of so many Runs before it was stored
	Runs     int    `json:"runs,omitempty"`
}

// Seen is what a record is made of. It can be made again of what is stored of the finding.
type Seen struct {
	FindingID, Hash string
	Event           engine.Event
	Target          string
	Proof           *Proof // nil: it cannot be shown again
	// Of a run, and empty for a sighting:
	RunID  string
	Result evidence.Result
	Note   string
}

func (s Seen) kind() evidence.Kind {
	if s.RunID != "" {
		return evidence.Run
	}
	return evidence.Sighting
}

// Record takes what was seen apart: facts, as JSON, the key of the salts and the texts.
func (s Seen) Record(secret []byte) (facts []byte, key evidence.Key, fields []evidence.Field, err error) {
	id := s.FindingID
	if s.RunID != "" {
		id = s.RunID
	}
	facts, err = json.Marshal(s.facts())
	return facts, evidence.KeyOf(secret, s.kind(), id), s.fields(), err
}

// Leaf is the hash of the record.
func (s Seen) Leaf(secret []byte) (string, error) {
	facts, key, fields, err := s.Record(secret)
	return evidence.LeafOf(facts, key, fields), err
}

func (s Seen) facts() evidence.Facts {
	e := s.Event
	f := evidence.Facts{
		Form: evidence.Form, Kind: s.kind(), FindingID: s.FindingID, Hash: s.Hash, Template: clean(e.TemplateID),
		Protocol: clean(e.Type), Name: clean(e.Info.Name), Severity: clean(string(e.Info.Severity)), Host: clean(e.Host),
		Port: clean(e.Port), IP: clean(e.IP), SeenAt: evidence.Time(e.Timestamp), Result: s.Result, Note: clean(s.Note),
	}
	if tool, is := e.Info.Metadata["tool"].(string); is && e.Type != "" {
		f.Tool = clean(tool)
	}
	if c := e.Info.Classification; c != nil {
		f.CVEs, f.CWEs = cleanAll(c.CVEID), cleanAll(c.CWEID)
	}
	if p := s.Proof; p != nil {
		f.Digest, f.Shown, f.Runs = p.Digest, p.Shown, p.Runs
		if p.Template != "" {
			f.Template = clean(p.Template)
		}
	}
	return f
}

// fields are the texts that may hold secrets, without empty ones, in the order in which they are hashed.
func (s Seen) fields() []evidence.Field {
	e := s.Event
	out := make([]evidence.Field, 0, 8)
	add := func(name, text string) {
		if text != "" {
			out = append(out, evidence.Field{Name: clean(name), Text: clean(text)})
		}
	}
	add("request", e.Request)
	add("response", e.Response)
	add("target", s.Target)
	add("matched-at", e.MatchedAt)
	add("path", e.Path)
	add("matcher-name", e.MatcherName)
	add("extractor-name", e.ExtractorName)
	for _, text := range e.ExtractedResults {
		add("extracted-results", text)
	}
	add("curl-command", e.CurlCommand)
	add("error", e.Error)
	if e.Fuzzed {
		add("fuzzing", strings.Join([]string{e.FuzzingMethod, e.FuzzingPosition, e.FuzzingParameter}, " "))
	}
	add("analyzer_details", e.AnalyzerDetails)
	for i, c := range e.Compared {
		of := "compared/" + strconv.Itoa(i+1)
		add(of, c.Note)
		add(of+"/request", c.Request)
		add(of+"/response", c.Response)
	}
	for _, name := range sortedKeys(e.Meta) {
		add("meta/"+name, e.Meta[name])
	}
	if i := e.Interaction; i != nil {
		add("interaction", strings.Join([]string{i.Protocol, i.FullID, i.QType, i.RemoteAddress, i.SMTPFrom}, " "))
		add("interaction/request", i.RawRequest)
		add("interaction/response", i.RawResponse)
	}
	return out
}

func sortedKeys(of map[string]string) []string {
	if len(of) == 0 {
		return nil
	}
	keys := make([]string, 0, len(of))
	for key := range of {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// clean is a text as it comes back from JSON.
func clean(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

func cleanAll(all []string) []string {
	if len(all) == 0 {
		return nil
	}
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = clean(s)
	}
	return out
}

// NewSecret is a secret for the salts of an entry.
func NewSecret() []byte {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails (crypto/rand)
	return secret
}

// Append appends an entry about leaves, and gives its number. What is the same in each entry, it sets itself. The
// caller
// holds the lock of the team's findings.
func Append(
	ctx context.Context, tx *db.Tx, at db.Time, e evidence.Entry, secret []byte, leaves []evidence.Leaf,
) (seq int64, err error) {
	if len(leaves) == 0 {
		return 0, nil
	}
	err = tx.QueryRow(ctx, `SELECT seq, hash FROM evidence_entry WHERE team_id = ? ORDER BY seq DESC LIMIT 1`, e.TeamID).
		Scan(&e.Seq, &e.Prev)
	if err != nil && !db.IsNoRows(err) {
		return 0, err
	}
	packed, err := pack(leaves)
	if err != nil {
		return 0, err
	}
	e.Seq++
	e.Form, e.At, e.Count, e.Root = evidence.Form, evidence.Time(at.Time), len(leaves), evidence.Root(leaves)
	text, hash, err := e.Encode()
	if err != nil {
		return 0, err
	}
	first, last := leaves[0].No, leaves[0].No
	for _, l := range leaves {
		first, last = min(first, l.No), max(last, l.No)
	}
	_, err = tx.Exec(ctx, `INSERT INTO evidence_entry (team_id, seq, kind, first_no, last_no, entry, hash, leaves, secret)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, e.TeamID, e.Seq, e.Kind, first, last, text, hash, packed, secret)
	return e.Seq, err
}

const (
	numberSize = 8
	leafSize   = numberSize + 32
)

func pack(leaves []evidence.Leaf) ([]byte, error) {
	out := make([]byte, 0, leafSize*len(leaves))
	for _, l := range leaves {
		sum, err := hex.DecodeString(l.Hash)
		if err != nil || len(sum) != leafSize-numberSize {
			return nil, fmt.Errorf("the leaf of finding %d is no hash", l.No)
		}
		out = append(binary.BigEndian.AppendUint64(out, uint64(l.No)), sum...)
	}
	return out, nil
}

// Stored is an entry as it is stored.
type Stored struct {
	Seq    int64
	Kind   evidence.Kind
	Text   []byte // JSON
	Hash   string
	Leaves []evidence.Leaf
	Secret []byte
}

// Entry is the entry, read.
func (s Stored) Entry() (e evidence.Entry, err error) { return e, json.Unmarshal(s.Text, &e) }

// Columns are what Read reads.
const Columns = `seq, kind, entry, hash, leaves, secret`

// Read reads a row of Columns.
func Read(r db.Row) (s Stored, err error) {
	var packed []byte
	if err := r.Scan(&s.Seq, &s.Kind, &s.Text, &s.Hash, &packed, &s.Secret); err != nil {
		return s, err
	}
	for part := range slices.Chunk(packed, leafSize) {
		if len(part) < leafSize {
			return s, fmt.Errorf("the leaves of entry %d are cut off", s.Seq)
		}
		no := int64(binary.BigEndian.Uint64(part))
		s.Leaves = append(s.Leaves, evidence.Leaf{No: no, Hash: hex.EncodeToString(part[numberSize:])})
	}
	return s, nil
}
