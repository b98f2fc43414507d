// Package feed keeps what an operator loads from files about CVEs: the probabilities of EPSS, and the catalogue of
// known exploited vulnerabilities (KEV). Nothing is fetched from anywhere.
//
// A load streams a file into rows of a generation of its own, some thousand in a transaction, and then makes that
// generation the feed's in one statement: readers see the feed of before or the new one, whole, and a load that fails
// or is killed changes nothing. Rows of other generations are deleted after that. Files may be compressed with gzip.
// What a file may be is bounded: entries, bytes of a line, and bytes in all after decompression.
package feed

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// The names of feeds.
const (
	EPSS = "epss"
	KEV  = "kev"
	NVD  = "nvd" // loaded by package vulnerability, as is OSV
	OSV  = "osv"
)

// Loaded is a feed as it is in force.
type Loaded struct {
	Name     string    `json:"name"`
	Entries  int       `json:"entries"`
	Version  string    `json:"version"` // what the file says of itself, such as a date
	LoadedAt time.Time `json:"loaded_at"`
}

// Feeds is the service. Feeds are of the server, not of a team: they are public knowledge.
type Feeds struct {
	db  *db.DB
	now func() time.Time

	maxBytes   int64
	maxEntries int
}

// New makes the service.
func New(d *db.DB) *Feeds {
	return &Feeds{db: d, now: time.Now, maxBytes: 1 << 30, maxEntries: 2_000_000}
}

const (
	loadRows  = 2000 // rows of one transaction
	maxLine   = 64 << 10
	eraseRows = 20_000
)

// List are the feeds that were loaded.
func (fs *Feeds) List(ctx context.Context) ([]Loaded, error) {
	return db.Select(ctx, fs.db, func(r db.Row) (l Loaded, err error) {
		return l, r.Scan(&l.Name, &l.Entries, &l.Version, db.Into(&l.LoadedAt))
	}, `SELECT name, entries, version, loaded_at FROM feed ORDER BY name`)
}

// Generation is another number after each load.
func Generation(ctx context.Context, q db.Querier) (int64, error) {
	return db.Value[int64](ctx, q, `SELECT coalesce(max(generation), 0) FROM feed WHERE name IN ('epss', 'kev')`)
}

// load is a feed that is being loaded.
type load struct {
	*Feeds
	name, into string // the feed, and its table with its columns
	generation int64
	rows       [][]any
	seen       map[string]bool
}

// begin begins a load of a feed.
func (fs *Feeds) begin(name, into string) *load {
	return &load{Feeds: fs, name: name, into: into, generation: fs.now().UnixMicro(), seen: map[string]bool{}}
}

// put adds an entry, the first of a CVE; values are the columns behind generation and cve.
func (l *load) put(ctx context.Context, cve string, values ...any) error {
	if l.seen[cve] {
		return nil
	}
	if l.seen[cve] = true; len(l.seen) > l.maxEntries {
		return errs.Field(l.name, "The file has more than %d entries.", l.maxEntries)
	}
	if l.rows = append(l.rows, append([]any{l.generation, cve}, values...)); len(l.rows) < loadRows {
		return nil
	}
	return l.flush(ctx)
}

func (l *load) flush(ctx context.Context) error {
	if len(l.rows) == 0 {
		return nil
	}
	rows := l.rows
	l.rows = nil
	return l.db.Tx(ctx, func(tx *db.Tx) error { return tx.Insert(ctx, l.into, rows) })
}

// end makes the load the feed, or (failed not nil) takes it away.
func (l *load) end(ctx context.Context, version string, failed error) (Loaded, error) {
	if failed == nil && len(l.seen) == 0 {
		failed = errs.Field(l.name, "The file has no entries.")
	}
	if failed == nil {
		failed = l.flush(ctx)
	}
	out := Loaded{Name: l.name, Entries: len(l.seen), Version: errs.Clip(db.Clean(version), 100), LoadedAt: l.now().UTC()}
	if failed == nil {
		failed = l.db.Tx(ctx, func(tx *db.Tx) error { return Note(ctx, tx, l.generation, out) })
	}
	clean, than := context.WithoutCancel(ctx), "<"
	if failed != nil {
		than = "="
	}
	return out, errors.Join(failed, l.erase(clean, than))
}

// Note makes a generation the feed's. It is a Conflict when a later one is.
func Note(ctx context.Context, q db.Querier, generation int64, l Loaded) error {
	return db.ExecOr(ctx, q, errs.New(errs.Conflict, "feed_loaded", "A later load of the same feed has ended meanwhile."),
		`INSERT INTO feed (name, generation, entries, version, loaded_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET generation = excluded.generation, entries = excluded.entries,
			version = excluded.version, loaded_at = excluded.loaded_at WHERE feed.generation < excluded.generation`,
		l.Name, generation, l.Entries, l.Version, db.At(l.LoadedAt))
}

// erase deletes the rows of the load, or of those before it, some at a time.
func (l *load) erase(ctx context.Context, than string) error {
	table, _, _ := strings.Cut(l.into, " ")
	for {
		n, err := l.db.Exec(ctx, `DELETE FROM `+table+` WHERE (generation, cve) IN (
			SELECT generation, cve FROM `+table+` WHERE generation `+than+` ? LIMIT ?)`, l.generation, eraseRows)
		if err != nil || n == 0 {
			return err
		}
	}
}

func (fs *Feeds) open(name string, file io.Reader) (io.Reader, error) {
	return Open(name, file, fs.maxBytes)
}

// Open reads a file, decompressed where it is compressed with gzip, up to some bytes; what is more is an error.
func Open(name string, file io.Reader, most int64) (io.Reader, error) {
	r := bufio.NewReaderSize(file, maxLine)
	if head, err := r.Peek(2); err == nil && bytes.Equal(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, errs.Field(name, "The file is no gzip file: %v.", err)
		}
		return &bounded{z, most, name}, nil
	}
	return &bounded{r, most, name}, nil
}

// bounded reads at most left bytes and fails then.
type bounded struct {
	io.Reader
	left int64
	name string
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errs.Field(b.name, "The file is too large.")
	}
	n, err := b.Reader.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		if refused := errs.From(err); refused == nil || refused.Kind != errs.Invalid {
			err = errs.Field(b.name, "The file cannot be read: %v.", err)
		}
	}
	return n, err
}

var cveID = regexp.MustCompile(`^CVE-\d{4}-\d{4,12}$`)

// IsCVE reports whether a text is the id of a CVE, in capitals.
func IsCVE(id string) bool { return cveID.MatchString(id) }

// idOf is a CVE's id in capitals; refused is an error that names the place.
func idOf(name, where, text string) (string, error) {
	id := strings.ToUpper(strings.TrimSpace(text))
	if !cveID.MatchString(id) {
		return "", errs.Field(name, "%s: %.40q is no CVE.", where, text)
	}
	return id, nil
}

// dateOf is a date, or empty for what is none.
func dateOf(text string) string {
	text = strings.TrimSpace(text)
	if _, err := time.Parse(time.DateOnly, text); err != nil {
		return ""
	}
	return text
}

func line(n int) string { return fmt.Sprintf("line %d", n) }

// Entry is what all feeds know of a CVE.
type Entry struct {
	Score
	Exploited // without Added where it is not in the catalogue
}

// Of is what feeds know of CVEs, by CVE. Those that no feed knows are left out.
func (fs *Feeds) Of(ctx context.Context, cves []string) (map[string]Entry, error) {
	out := map[string]Entry{}
	if len(cves) == 0 {
		return out, nil
	}
	scores, err := Scores(ctx, fs.db, cves)
	if err != nil {
		return nil, err
	}
	known, err := KnownExploited(ctx, fs.db, cves)
	for cve, s := range scores {
		out[cve] = Entry{s, known[cve]}
	}
	for cve, e := range known {
		out[cve] = Entry{scores[cve], e}
	}
	return out, err
}
