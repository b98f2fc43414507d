// Package evidence is the form of sealed evidence: what is hashed and how, files of it for auditors, and their
// verification without a server or a database.
//
// # How it works
//
// What was seen once is a record: facts, which are never masked, and fields, which are texts that may hold secrets. The
// hash of a record is its leaf. Each text is cut into pieces, and each piece is hashed with a salt of its own, so
// that a
// file can show a piece with its salt, or only its hash: a file in which secrets are masked has the same leaves as one
// that shows them, and a masked piece cannot be guessed by trying values, because its salt stays on the server.
//
// Records that were stored together are an entry. It holds the hash of the entry before it in its team, and a hash of
// its leaves, so that an entry stays when a record is deleted. A head is an entry's hash that a server signed. A file
// (file.go) has entries up to a head, the records it is about, and a signature of all of it; verify.go reads it.
package evidence

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// Form is the version of everything here that is hashed.
const Form = 1

// Kind is what a record is about.
type Kind string

// The kinds.
const (
	Sighting Kind = "sighting" // a scan, a task or an import saw something
	Run      Kind = "run"      // the proof of a sighting was sent again
	Adopted  Kind = "adopted"  // of an entry: sightings that an older version stored, as they were at this time
)

// Facts are the part of a record that is never masked. Their JSON is what is hashed.
type Facts struct {
	Form      int      `json:"form"`
	Kind      Kind     `json:"kind"`
	FindingID string   `json:"vuln_id"`
	Hash      string   `json:"vuln_hash"`
	Template  string   `json:"template_id,omitempty"`
	Digest    string   `json:"template_digest,omitempty"` // SHA-256 of the template's text, and of files that it names
	Tool      string   `json:"tool,omitempty"`            // that reported it, where it was imported
	Protocol  string   `json:"type,omitempty"`
	Name      string   `json:"name,omitempty"`
	Severity  string   `json:"severity,omitempty"` // as it was seen
	CVEs      []string `json:"cve,omitempty"`
	CWEs      []string `json:"cwe,omitempty"`
	Host      string   `json:"host,omitempty"`
	Port      string   `json:"port,omitempty"`
	IP        string   `json:"ip,omitempty"`
	SeenAt    string   `json:"seen_at,omitempty"` // RFC 3339; empty: the report did not say, see the entry's time
	Shown     int      `json:"shown"`             // of so many Runs, which this record is about
	Runs      int      `json:"runs"`
	Result    Result   `json:"result,omitempty"` // of a Run
	Note      string   `json:"note,omitempty"`
}

// Field is a text of a record that may hold secrets.
type Field struct {
	Name, Text string
}

// Entry is a link of a team's chain. Its JSON is what is hashed.
type Entry struct {
	Form   int    `json:"form"`
	TeamID string `json:"team_id"`
	Seq    int64  `json:"seq"` // from 1, without gaps
	Prev   string `json:"prev"`
	Kind   Kind   `json:"kind"`
	At     string `json:"at"`        // RFC 3339: when it was stored
	Source string `json:"source"`    // scan, task, import, retest or replay
	ID     string `json:"source_id"` // of the scan or the task; of a run: of the finding
	Run    int64  `json:"run"`       // of the scan
	By     string `json:"by,omitempty"`
	Engine string `json:"engine"` // the version of Vedette
	Count  int    `json:"count"`  // of leaves
	Root   string `json:"root"`   // Root of the leaves
}

// Leaf is the hash of a record, under the number that its finding has in the team.
type Leaf struct {
	No   int64  `json:"no"`
	Hash string `json:"hash"` // 64 hex digits
}

// Root is the hash of the leaves of an entry, in order: of the number (8 bytes, big endian) and the hash of each.
func Root(leaves []Leaf) string {
	h := sha256.New()
	for _, l := range leaves {
		var no [8]byte
		binary.BigEndian.PutUint64(no[:], uint64(l.No))
		_, _ = h.Write(no[:])
		text, _ := hex.DecodeString(l.Hash) // a wrong one makes another root
		_, _ = h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Encode is an entry as it is hashed, and its hash.
func (e Entry) Encode() (text []byte, hash string, err error) {
	text, err = json.Marshal(e)
	return text, Hash(text), err
}

// Hash is SHA-256 as 64 hex digits.
func Hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Key makes the salts of one record. It is as secret as the record itself.
type Key [sha256.Size]byte

// KeyOf is the key of a record in an entry with a random secret.
func KeyOf(secret []byte, kind Kind, id string) Key {
	buf := make([]byte, 0, 96)
	buf = append(append(append(append(buf, secret...), kind...), 0), id...)
	return sha256.Sum256(buf)
}

// saltSize is how many bytes of a hash are a salt.
const saltSize = 16

// salt is the salt of a piece of a field, by their indices. No two pieces of a record have the same: one may be shown
// where the other is masked.
func (k Key) salt(field, piece int) [saltSize]byte {
	var buf [sha256.Size + 8]byte
	copy(buf[:], k[:])
	binary.BigEndian.PutUint32(buf[sha256.Size:], uint32(field))
	binary.BigEndian.PutUint32(buf[sha256.Size+4:], uint32(piece))
	sum := sha256.Sum256(buf[:])
	return [saltSize]byte(sum[:saltSize])
}

// commit is the hash of a piece.
func commit(buf []byte, salt [saltSize]byte, piece string) [sha256.Size]byte {
	buf = append(append(buf[:0], salt[:]...), piece...)
	return sha256.Sum256(buf)
}

// The sizes of pieces, in bytes: a line of a text's beginning is a piece unless it is very short; all else is cut in
// blocks.
const (
	leastPiece = 32
	mostPiece  = 4096
	linesUntil = 16 << 10
)

// cut is where the piece of a text that begins at an index ends.
func cut(text string, from int) int {
	if from < linesUntil {
		for i := from; i < len(text) && i < from+mostPiece; i++ {
			if text[i] == '\n' && i+1-from >= leastPiece {
				return i + 1
			}
		}
	}
	end := from + mostPiece
	if end >= len(text) {
		return len(text)
	}
	for end > from+1 && !utf8.RuneStart(text[end]) {
		end--
	}
	return end
}

// LeafOf is the leaf of a record: the SHA-256 of "vedette evidence 1\n" and, each after its length (8 bytes, big
// endian), the JSON of the facts and, for each field, its name and the hashes of its pieces. The hash of a piece
// is that
// of its salt and its text.
func LeafOf(facts []byte, key Key, fields []Field) string {
	buf := make([]byte, 0, 2048)
	scratch := make([]byte, 0, saltSize+mostPiece)
	buf = leafStart(buf, facts)
	for n, f := range fields {
		buf = appendSized(buf, f.Name)
		at := len(buf)
		buf = append(buf, 0, 0, 0, 0, 0, 0, 0, 0)
		for from, i := 0, 0; from < len(f.Text); i++ {
			to := cut(f.Text, from)
			sum := commit(scratch, key.salt(n, i), f.Text[from:to])
			buf = append(buf, sum[:]...)
			from = to
		}
		binary.BigEndian.PutUint64(buf[at:], uint64(len(buf)-at-8))
	}
	return Hash(buf)
}

func leafStart(buf, facts []byte) []byte {
	buf = append(buf, "vedette evidence 1\n"...)
	return appendSized(buf, string(facts))
}

func appendSized(buf []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint64(buf, uint64(len(text))), text...)
}

// Head is the hash of an entry, signed by a server.
type Head struct {
	TeamID    string `json:"team_id"`
	Seq       int64  `json:"seq"`
	Hash      string `json:"hash"`
	At        string `json:"at"` // RFC 3339: when it was signed
	Signature string `json:"signature"`
}

func (h Head) signed() []byte {
	return []byte("vedette evidence head 1\n" + h.TeamID + "\n" + strconv.FormatInt(h.Seq,
		10) + "\n" + h.Hash + "\n" + h.At)
}

// Sign signs a head.
func (h *Head) Sign(key ed25519.PrivateKey) {
	h.Signature = hex.EncodeToString(ed25519.Sign(key, h.signed()))
}

// Verify reports whether the owner of a key signed the head.
func (h Head) Verify(key ed25519.PublicKey) bool { return verify(key, h.signed(), h.Signature) }

func verify(key ed25519.PublicKey, message []byte, signature string) bool {
	raw, err := hex.DecodeString(signature)
	return err == nil && hex.EncodeToString(raw) == signature && len(key) == ed25519.PublicKeySize &&
		ed25519.Verify(key, message, raw)
}

// ReadFacts reads the facts of a record.
func ReadFacts(text []byte) (f Facts, err error) { return f, json.Unmarshal(text, &f) }
