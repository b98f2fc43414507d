package webtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"crypto/sha256"
	"encoding/hex"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
)

// journal is a file of lines of JSON, each a record, written when something is done. A line that a kill cut short is
// left out when the file is read again.
type journal struct {
	mu   sync.Mutex
	file *os.File
	err  error

	resumed  bool
	entries  *sitemap.Map
	answers  map[string]*message.Response // of a crawl that did not end, by the identity of the request
	done     map[string]bool
	findings []Finding
	texts    map[string][]byte // descriptions by address
	users    []kit.Newcomer    // who were registered
	sent     int64
}

// record is one line: what it has is what was done.
type record struct {
	Map     *sitemap.Map      `json:"map,omitempty"`
	Asked   string            `json:"asked,omitempty"` // the identity of a request of the crawl, with its Answer
	Answer  *message.Response `json:"answer,omitempty"`
	Done    string            `json:"done,omitempty"` // key of a target
	Text    []byte            `json:"text,omitempty"` // of a description that was found At an address
	At      string            `json:"at,omitempty"`
	Finding *Finding          `json:"finding,omitempty"`
	User    *kit.Newcomer     `json:"user,omitempty"` // who was registered
	Sent    int64             `json:"sent,omitempty"` // requests until then
}

// sitesKey is done when whole sites were tested, publishedKey when descriptions were asked for.
const (
	sitesKey     = "sites"
	publishedKey = "published"
)

// keyOf is the key of a target.
func keyOf(r *message.Request) string {
	copied := *r
	if r.Token != nil {
		copied = *r.Put(r.Token.Place, "")
	}
	return hashed(copied.Key())
}

// openJournal reads a journal and opens it to go on; without a path it keeps nothing.
func openJournal(path string) (*journal, error) {
	j := &journal{done: map[string]bool{}, answers: map[string]*message.Response{}, texts: map[string][]byte{}}
	if path == "" {
		return j, nil
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the journal: %w", err)
	}
	whole, err := j.read(file)
	if err == nil { // what follows the last whole line was cut short
		err = errors.Join(file.Truncate(whole), seek(file, whole))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the journal %s: %w", path, err), file.Close())
	}
	j.file = file
	return j, nil
}

func seek(file *os.File, at int64) error {
	_, err := file.Seek(at, io.SeekStart)
	return err
}

// read reads the records and returns where the last whole one ends.
func (j *journal) read(in io.Reader) (whole int64, err error) {
	r := bufio.NewReaderSize(in, 1<<16)
	for line := 1; ; line++ {
		text, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return whole, nil
		}
		if err != nil {
			return whole, err
		}
		var one record
		if err := json.Unmarshal(text, &one); err != nil {
			return whole, fmt.Errorf("line %d is none of a journal: %w", line, err)
		}
		whole += int64(len(text))
		j.resumed = true
		j.sent = max(j.sent, one.Sent)
		if one.Asked != "" && one.Answer != nil {
			j.answers[one.Asked] = one.Answer
		}
		if one.Map != nil {
			j.entries, j.answers = one.Map, nil // it has what they led to
		}
		if one.At != "" {
			j.texts[one.At] = one.Text
		}
		if one.User != nil {
			j.users = append(j.users, *one.User)
		}
		if one.Done != "" {
			j.done[one.Done] = true
		}
		if one.Finding != nil {
			j.findings = append(j.findings, *one.Finding)
		}
	}
}

// note writes a record; its error is also kept.
func (j *journal) note(one record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return nil
	}
	text, err := json.Marshal(one)
	if err == nil {
		_, err = j.file.Write(append(text, '\n'))
	}
	if err != nil && j.err == nil {
		j.err = fmt.Errorf("the journal: %w", err)
	}
	return j.err
}

// known is the answer to a request of the crawl, by its identity; nil if none was noted.
func (j *journal) known(identity string) *message.Response { return j.answers[hashed(identity)] }

// asked notes an answer of the crawl. Its error ends the run when the map is noted.
func (j *journal) asked(identity string, answer *message.Response, sent int64) {
	if j.file != nil {
		short := *answer
		short.Request = nil
		_ = j.note(record{Asked: hashed(identity), Answer: &short, Sent: sent})
	}
}

func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:12])
}

func (j *journal) close() {
	if j.file != nil {
		_ = j.file.Close() // each record was written when it was noted
	}
}
