package evidence

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Problem is something in a file that was changed, is missing, or does not fit.
type Problem struct {
	Line    int    `json:"line"` // from 1
	Finding string `json:"vuln_id,omitempty"`
	What    string `json:"what"`
}

// Report is what a verification found.
type Report struct {
	Header   Header    `json:"header"`
	Lines    int       `json:"lines"`
	Entries  int       `json:"entries"`
	Records  int       `json:"records"` // that are as they were sealed
	Masked   int       `json:"masked"`  // of those, with a text that is masked in part
	Pruned   int       `json:"pruned"`  // deleted since; their hashes are there
	Heads    int       `json:"heads"`
	First    int64     `json:"first"` // entry
	Last     int64     `json:"last"`  // entry
	Chains   int       `json:"chains"`
	Trusted  bool      `json:"trusted"` // the key is the expected one
	Problems []Problem `json:"problems"`
}

// IsIntact reports whether nothing was changed.
func (r *Report) IsIntact() bool { return len(r.Problems) == 0 }

// Bounds of what a file may make a verification hold.
const (
	mostProblems = 100
	mostLine     = 64 << 20 // bytes
)

// verifier is the state of a verification.
type verifier struct {
	report  *Report
	key     ed25519.PublicKey
	check   string // of the line before, as it is written
	entry   Entry  // the last one
	hash    string // of it
	leaves  map[int64]string
	open    map[int64]bool // of leaves: neither a record nor a note that it is pruned followed
	headed  bool           // the last entry has a head
	ended   bool
	visit   func(Record, Facts)
	visitOf func(Template)
}

// Visitor gets what a file holds while it is verified; its functions may be nil.
type Visitor struct {
	Record   func(Record, Facts) // that is as it was sealed
	Template func(Template)      // whose digest is right
}

// Verify reads a file to its end and says what was changed. key is the public key that is expected, 64 hex digits;
// empty: that of the file, which proves that the file is whole, but not whose it is. An error is a fault of r.
func Verify(r io.Reader, key string, visit Visitor) (*Report, error) {
	v := &verifier{report: &Report{Problems: []Problem{}}, visit: visit.Record, visitOf: visit.Template}
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		text, err := readLine(in)
		if len(text) > 0 {
			v.report.Lines++
			v.line(text, key)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return v.report, err
		}
	}
	v.endSegment()
	if v.report.Header.Scope.Kind == ScopeTeam && (v.report.First != 1 || v.report.Chains != 1) {
		v.problemf("", "entries are missing: the chain is not whole from the first on")
	}
	if !v.ended {
		v.problemf("", "the file ends before its seal: it is not complete")
	}
	return v.report, nil
}

// readLine reads a line with its end.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > mostLine {
			return nil, fmt.Errorf("a line has more than %d bytes: this is no file of evidence", mostLine)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func (v *verifier) problemf(finding, format string, args ...any) {
	if len(v.report.Problems) < mostProblems {
		v.report.Problems = append(v.report.Problems, Problem{v.report.Lines, finding, fmt.Sprintf(format, args...)})
	}
}

// line checks a line.
func (v *verifier) line(text []byte, key string) {
	if v.ended {
		v.problemf("", "a line follows the seal")
		return
	}
	before := v.check
	body, isWhole := v.split(text)
	var l line
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		v.problemf("", "the line is not as it was written: it cannot be read")
		return
	}
	if !isWhole {
		v.problemf(findingOf(l), "the line is not as it was written: its check differs")
	}
	if v.report.Lines == 1 {
		v.header(l.Header, key)
		return
	}
	switch {
	case l.Entry != nil:
		v.link(l)
	case l.Record != nil:
		v.record(*l.Record)
	case l.Pruned != nil:
		if v.take(l.Pruned.No, "", "note about a deleted record") {
			v.report.Pruned++
		}
	case l.Damaged != nil:
		if v.take(l.Damaged.No, l.Damaged.FindingID, "note about a damaged record") {
			v.problemf(l.Damaged.FindingID, "the evidence was changed in the database after it was sealed")
		}
	case l.Head != nil:
		v.head(*l.Head)
	case l.Template != nil:
		v.template(*l.Template)
	case l.Seal != nil:
		v.seal(*l.Seal, before)
	default:
		v.problemf("", "the line is of no known kind")
	}
}

func findingOf(l line) string {
	var f Facts
	if l.Record != nil && json.Unmarshal(l.Record.Facts, &f) == nil {
		return f.FindingID
	}
	return ""
}

// split takes the check off a line, and reports whether it is right.
func (v *verifier) split(text []byte) (body []byte, isWhole bool) {
	at := len(text) - len(checkStart) - checkSize - len(checkEnd)
	if at < 1 || string(text[at:at+len(checkStart)]) != checkStart || string(text[len(text)-len(checkEnd):]) != checkEnd {
		return bytes.TrimSuffix(text, []byte("\n")), false
	}
	stated := string(text[at+len(checkStart) : at+len(checkStart)+checkSize])
	body = append(bytes.Clone(text[:at]), '}')
	isWhole = stated == checkOf(v.check, body)
	v.check = stated
	return body, isWhole
}

func (v *verifier) header(h *Header, key string) {
	if h == nil {
		v.problemf("", "this is no file of evidence: its first line is no header")
		v.ended = true
		return
	}
	v.report.Header = *h
	if h.Evidence != Form {
		v.problemf("", "the file has the form %d; this version reads %d", h.Evidence, Form)
	}
	if h.Lost > 0 {
		v.problemf("", "the database has lost entry %d, which the server had signed, and perhaps others", h.Lost)
	}
	raw, err := hex.DecodeString(h.Key)
	if err != nil || len(raw) != ed25519.PublicKeySize {
		v.problemf("", "the header names no key")
		return
	}
	v.key = raw
	if v.report.Trusted = key != "" && key == h.Key; key != "" && !v.report.Trusted {
		v.problemf("", "the file is signed by another key: %s", h.Key)
	}
}

// link checks that an entry follows the one before it.
func (v *verifier) link(l line) {
	v.endEntry()
	var e Entry
	if err := json.Unmarshal(l.Entry, &e); err != nil {
		v.problemf("", "the entry cannot be read")
		return
	}
	if Hash(l.Entry) != l.Hash {
		v.problemf("", "entry %d: its content is not what was hashed", e.Seq)
	}
	if e.TeamID != v.report.Header.TeamID || e.Form != Form {
		v.problemf("", "entry %d is of another team, or of another form", e.Seq)
	}
	switch {
	case v.report.Entries > 0 && e.Seq == v.entry.Seq+1:
		if e.Prev != v.hash {
			v.problemf("", "entry %d does not follow entry %d: its hash of that differs", e.Seq, v.entry.Seq)
		}
	default:
		v.endSegment()
		v.report.Chains++
		if v.report.Entries > 0 && e.Seq <= v.entry.Seq {
			v.problemf("", "entry %d stands after entry %d", e.Seq, v.entry.Seq)
		}
		if e.Seq == 1 && e.Prev != "" {
			v.problemf("", "entry 1 is not the first")
		}
	}
	if v.report.Entries == 0 {
		v.report.First = e.Seq
	}
	v.report.Entries++
	v.report.Last, v.entry, v.hash, v.headed = e.Seq, e, l.Hash, false
	v.leaves, v.open = map[int64]string{}, map[int64]bool{}
	if l.Leaves == nil {
		if v.report.Header.Scope.Kind == ScopeTeam {
			v.problemf("", "entry %d has no list of its records", e.Seq)
		}
		return
	}
	if len(l.Leaves) != e.Count || Root(l.Leaves) != e.Root {
		v.problemf("", "entry %d: the hashes of its records are not those that were sealed", e.Seq)
	}
	for _, leaf := range l.Leaves {
		v.leaves[leaf.No], v.open[leaf.No] = leaf.Hash, true
	}
}

// ScopeTeam is the scope of files that are complete: each record of a team is in them, or a note that it was deleted.
const ScopeTeam = "team"

// endEntry checks that nothing of an entry is left out.
func (v *verifier) endEntry() {
	if v.report.Header.Scope.Kind == ScopeTeam && len(v.open) > 0 {
		v.problemf("", "entry %d: %d of its records are missing", v.entry.Seq, len(v.open))
	}
	v.open = nil
}

// endSegment checks that a chain of entries ends in a signed head.
func (v *verifier) endSegment() {
	v.endEntry()
	if v.report.Entries > 0 && !v.headed {
		v.problemf("", "entry %d is the last of its chain, and has no signature", v.entry.Seq)
	}
}

// take finds the leaf of a line, once.
func (v *verifier) take(no int64, finding, what string) bool {
	if !v.open[no] {
		v.problemf(finding, "the %s belongs to no record of the entry before it", what)
		return false
	}
	delete(v.open, no)
	return true
}

// record checks that a record is what was sealed.
func (v *verifier) record(r Record) {
	var f Facts
	if err := json.Unmarshal(r.Facts, &f); err != nil {
		v.problemf("", "the facts of a record cannot be read")
		return
	}
	if !v.take(r.No, f.FindingID, "record") {
		return
	}
	if why := r.malformed(); why != "" {
		v.problemf(f.FindingID, "%s", why)
		return
	}
	if r.leaf() != v.leaves[r.No] {
		v.problemf(f.FindingID, "the record is not what was sealed: its facts or one of its texts were changed")
		return
	}
	v.report.Records++
	masked := false
	for _, field := range r.Fields {
		_, some := field.Text()
		masked = masked || some
	}
	if masked {
		v.report.Masked++
	}
	if masked && !v.report.Header.Masked {
		v.problemf(f.FindingID, "the record is masked, and the header says that none is")
	}
	if v.visit != nil {
		v.visit(r, f)
	}
}

// malformed says what a writer would not have written.
func (r Record) malformed() string {
	for _, f := range r.Fields {
		for i, p := range f.Pieces {
			isOpen := len(p.Salt) == 2*saltSize && p.Hash == "" && p.Masked == "" && p.Text != ""
			isMasked := len(p.Hash) == 2*sha256.Size && p.Salt == "" && p.Text == "" && p.Masked != ""
			if !isOpen && !isMasked || strings.ToLower(p.Salt+p.Hash) != p.Salt+p.Hash {
				return fmt.Sprintf("%s: piece %d is neither shown nor masked", f.Name, i+1)
			}
		}
	}
	return ""
}

// leaf is the leaf of a record as it is in a file; LeafOf says what it is.
func (r Record) leaf() string {
	buf := leafStart(nil, r.Facts)
	for _, f := range r.Fields {
		buf = appendSized(buf, f.Name)
		buf = binary.BigEndian.AppendUint64(buf, uint64(len(f.Pieces)*sha256.Size))
		for _, p := range f.Pieces {
			sum, _ := hex.DecodeString(p.Hash) // another one makes another leaf
			if p.Hash == "" {
				salt, _ := hex.DecodeString(p.Salt)
				one := commit(nil, [saltSize]byte(append(salt, make([]byte, saltSize)...)), p.Text)
				sum = one[:]
			}
			buf = append(buf, sum...)
		}
	}
	return Hash(buf)
}

func (v *verifier) head(h Head) {
	switch {
	case h.Seq != v.entry.Seq || h.Hash != v.hash || h.TeamID != v.report.Header.TeamID:
		v.problemf("", "the head is not of the entry before it")
	case !h.Verify(v.key):
		v.problemf("", "entry %d: the signature is not of the key in the header", h.Seq)
	default:
		v.report.Heads++
	}
	v.headed = true
}

func (v *verifier) template(t Template) {
	text, err := base64.StdEncoding.DecodeString(t.Text)
	if err != nil || Hash(text) != t.Digest {
		v.problemf("", "the text of the template %s is not that of its digest", t.ID)
	} else if v.visitOf != nil {
		v.visitOf(t)
	}
}

// seal checks the signature of a file; check is that of the line before.
func (v *verifier) seal(s Seal, check string) {
	v.ended = true
	if !verify(v.key, sealed(check), s.Signature) {
		v.problemf("", "the signature of the file is not of the key in its header, or the file was changed")
	}
	if s.Records != v.report.Records && v.report.IsIntact() {
		v.problemf("", "the file has %d records; the seal says %d", v.report.Records, s.Records)
	}
}
