package evidence

import (
	"bufio"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"strings"
	"time"
)

// A file of evidence is text: a JSON object in each line, whose last member, "check", is the SHA-256 of the check of
// the line before and of the line without its check. So each byte of a file is in the check of its line, and in all
// that follow. The last line has a signature of the check before it.

// Header is the first line of a file.
type Header struct {
	Evidence int    `json:"evidence"` // Form
	About    string `json:"about"`
	TeamID   string `json:"team_id"`
	Scope    Scope  `json:"scope"`
	Masked   bool   `json:"masked"`
	MadeAt   string `json:"made_at"`
	MadeBy   string `json:"made_by"`
	Key      string `json:"key"`            // the public key of the server, 64 hex digits
	Lost     int64  `json:"lost,omitempty"` // an entry that was signed, and is no longer in the database
}

// Scope is what a file is about.
type Scope struct {
	Kind string `json:"kind"` // finding, scan, task or team
	ID   string `json:"id"`
}

// about is the text for who finds a file.
const about = "Evidence of security findings, sealed by Vedette. Each line is a JSON object. " +
	"'vedette evidence verify FILE' checks it without a server; docs/use/evidence.md says how to check it by other means."

// Record is what was seen once, with its texts in pieces.
type Record struct {
	No     int64           `json:"no"`
	Facts  json.RawMessage `json:"facts"`
	Fields []Pieces        `json:"fields"`
}

// Pieces are a text of a record.
type Pieces struct {
	Name   string  `json:"name"`
	Pieces []Piece `json:"pieces"`
}

// Piece is a part of a text: with its salt, or masked, with its hash.
type Piece struct {
	Salt   string `json:"salt,omitempty"`
	Text   string `json:"text,omitempty"`
	Hash   string `json:"hash,omitempty"`
	Masked string `json:"masked,omitempty"`
}

// Text is the text of a field; masked reports whether a part of it is.
func (p Pieces) Text() (text string, masked bool) {
	var b strings.Builder
	for _, one := range p.Pieces {
		b.WriteString(one.Text)
		b.WriteString(one.Masked)
		masked = masked || one.Hash != ""
	}
	return b.String(), masked
}

// Template is the text of a template that records were made with.
type Template struct {
	ID     string `json:"id"`
	Digest string `json:"digest"`
	Text   string `json:"text"` // in base64
}

// Pruned is a record that was deleted after it was sealed.
type Pruned struct {
	No int64 `json:"no"`
}

// Damaged is a record whose content in the database is not what was sealed.
type Damaged struct {
	No        int64  `json:"no"`
	FindingID string `json:"vuln_id"`
}

// Seal ends a file.
type Seal struct {
	Records   int    `json:"records"`
	Signature string `json:"signature"` // of sealed
}

// line is a line of a file: one of its members, or an entry with its hash and, where records of it follow, its leaves.
type line struct {
	Header   *Header         `json:"header,omitempty"`
	Entry    json.RawMessage `json:"entry,omitempty"`
	Hash     string          `json:"hash,omitempty"`
	Leaves   []Leaf          `json:"leaves,omitempty"`
	Record   *Record         `json:"record,omitempty"`
	Pruned   *Pruned         `json:"pruned,omitempty"`
	Damaged  *Damaged        `json:"damaged,omitempty"`
	Head     *Head           `json:"head,omitempty"`
	Template *Template       `json:"template,omitempty"`
	Seal     *Seal           `json:"seal,omitempty"`
}

// Writer writes a file. After an error it writes nothing more, and Close returns it.
type Writer struct {
	out     *bufio.Writer
	key     ed25519.PrivateKey
	check   string
	records int
	err     error
}

// NewWriter begins a file that a key signs. Of the header, it sets what is the same in all.
func NewWriter(w io.Writer, key ed25519.PrivateKey, h Header) *Writer {
	out := &Writer{out: bufio.NewWriterSize(w, 64<<10), key: key}
	h.Evidence, h.About, h.Key = Form, about, PublicKey(key)
	out.write(line{Header: &h})
	return out
}

// PublicKey is the public part of a key, as files have it.
func PublicKey(key ed25519.PrivateKey) string {
	return hex.EncodeToString(key[ed25519.PrivateKeySize-ed25519.PublicKeySize:])
}

func (w *Writer) write(l line) {
	if w.err != nil {
		return
	}
	body, err := json.Marshal(l)
	if err != nil {
		w.err = err
		return
	}
	w.check = checkOf(w.check, body)
	body = append(append(body[:len(body)-1], checkStart...), w.check...)
	_, w.err = w.out.Write(append(body, checkEnd...))
}

const (
	checkStart = `,"check":"`
	checkEnd   = "\"}\n"
	checkSize  = 2 * sha256.Size
)

// checkOf is the check of a line.
func checkOf(before string, body []byte) string {
	h := sha256.New()
	_, _ = io.WriteString(h, before) // a hash takes everything
	_, _ = h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

// Entry writes a link of the chain. leaves are those of an entry whose records follow; nil: none do.
func (w *Writer) Entry(text []byte, leaves []Leaf) {
	w.write(line{Entry: text, Hash: Hash(text), Leaves: leaves})
}

// Record writes a record of the entry before it.
func (w *Writer) Record(r Record) {
	w.records++
	w.write(line{Record: &r})
}

// Pruned writes that a record of the entry before it was deleted.
func (w *Writer) Pruned(no int64) { w.write(line{Pruned: &Pruned{no}}) }

// Damaged writes that a record of the entry before it is not what was sealed.
func (w *Writer) Damaged(no int64, findingID string) { w.write(line{Damaged: &Damaged{no, findingID}}) }

// Head writes the signature of the entry before it.
func (w *Writer) Head(h Head) { w.write(line{Head: &h}) }

// Template writes the text of a template.
func (w *Writer) Template(t Template) { w.write(line{Template: &t}) }

// Close ends the file. Without it, the file does not verify.
func (w *Writer) Close() error {
	signature := ed25519.Sign(w.key, sealed(w.check))
	w.write(line{Seal: &Seal{w.records, hex.EncodeToString(signature)}})
	if w.err != nil {
		return w.err
	}
	return w.out.Flush()
}

func sealed(check string) []byte { return []byte("vedette evidence file 1\n" + check) }

// Open is a record of facts and fields, with all that masker leaves as it is in the open; nil masks nothing.
func Open(no int64, facts []byte, key Key, fields []Field, masker func(string) string) Record {
	r := Record{No: no, Facts: facts, Fields: make([]Pieces, 0, len(fields))}
	for n, f := range fields {
		masked := f.Text
		if masker != nil {
			masked = masker(f.Text)
		}
		r.Fields = append(r.Fields, Pieces{f.Name, pieces(key, n, f, spansOf(f.Text, masked))})
	}
	return r
}

// pieces are the pieces of the n-th field; those that a span touches are masked.
func pieces(key Key, n int, f Field, spans []span) []Piece {
	out := []Piece{}
	for from, i := 0, 0; from < len(f.Text); i++ {
		to := cut(f.Text, from)
		salt := key.salt(n, i)
		for len(spans) > 0 && spans[0].to <= from {
			spans = spans[1:]
		}
		if len(spans) == 0 || spans[0].from >= to {
			out = append(out, Piece{Salt: hex.EncodeToString(salt[:]), Text: f.Text[from:to]})
		} else {
			sum := commit(nil, salt, f.Text[from:to])
			out = append(out, Piece{Hash: hex.EncodeToString(sum[:]), Masked: hide(f.Text, from, to, spans)})
		}
		from = to
	}
	return out
}

// Time is how files write times.
func Time(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
