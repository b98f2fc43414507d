package auditfile

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// The formats of files.
const (
	JSONL = "jsonl" // a header, and then a line for each entry
	CSV   = "csv"   // a row for each entry, with the hash of the one before
)

// Header is the first line of a JSONL file.
type Header struct {
	Form      string `json:"form"`
	TeamID    string `json:"team_id"`
	AfterSeq  int64  `json:"after_seq"` // the number of the entry before the first
	PrevHash  string `json:"prev_hash"` // its hash
	LastSeq   int64  `json:"last_seq"`
	LastHash  string `json:"last_hash"`
	WrittenAt string `json:"written_at"`
}

// Columns are the columns of a CSV file.
func Columns() []string {
	return []string{"team_id", "seq", "id", "created_at", "user_id", "email", "action", "object_id", "status", "method",
		"path",
		"ip", "source", "prev_hash", "hash"}
}

// Writer writes a file.
type Writer struct {
	out  *bufio.Writer
	csv  *csv.Writer // nil: JSONL
	prev string
}

// NewWriter begins a file of a format.
func NewWriter(w io.Writer, format string, h Header) (*Writer, error) {
	f := &Writer{out: bufio.NewWriter(w), prev: h.PrevHash}
	if format == CSV {
		f.csv = csv.NewWriter(f.out)
		return f, f.csv.Write(Columns())
	}
	h.Form = Form
	return f, f.line(h)
}

func (f *Writer) line(v any) error {
	text, err := encode(v)
	if err == nil {
		_, err = f.out.Write(text)
	}
	return err
}

func encode(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	return append(text, '\n'), err
}

// Add writes the next entry.
func (f *Writer) Add(e Entry) error {
	if f.csv == nil {
		return f.line(e)
	}
	row := []string{e.TeamID, strconv.FormatInt(e.Seq, 10), e.ID, e.CreatedAt, e.UserID, e.Email, e.Action, e.Object,
		strconv.Itoa(e.Status), e.Method, e.Path, e.IP, e.Source, f.prev, e.Hash}
	for i := range row {
		row[i] = quoted(row[i])
	}
	f.prev = e.Hash
	return f.csv.Write(row)
}

// Close writes what is left.
func (f *Writer) Close() error {
	if f.csv != nil {
		f.csv.Flush()
		if err := f.csv.Error(); err != nil {
			return err
		}
	}
	return f.out.Flush()
}

// formula are the first characters with which spreadsheets begin a formula. Such a text, and one that begins with the
// mark itself, gets the mark in front, so that the text can be read back.
const formula = "=+-@\t\r'"

func quoted(s string) string {
	if s != "" && strings.ContainsRune(formula, rune(s[0])) {
		return "'" + s
	}
	return s
}

const maxLine = 256 << 10 // bytes of a line of a file

// ErrFile is the cause when a file is not one of an audit log.
var ErrFile = errors.New("this is no file of an audit log")

// Verify reads a file of either format. The error wraps ErrFile when it is none; what was changed in a file is in the
// report.
func Verify(r io.Reader) (*Report, error) {
	in := bufio.NewReaderSize(r, maxLine)
	first, err := in.Peek(1)
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%w: it is empty", ErrFile)
	case err != nil:
		return nil, err
	case first[0] == '{':
		return verifyLines(in)
	}
	return verifyRows(in)
}

func verifyLines(in *bufio.Reader) (*Report, error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	if !lines.Scan() {
		return nil, errors.Join(ErrFile, lines.Err())
	}
	var h Header
	if err := json.Unmarshal(lines.Bytes(), &h); err != nil || h.Form != Form {
		return nil, fmt.Errorf("%w: its first line has not the form %s", ErrFile, Form)
	}
	w := NewWalk(h.TeamID, h.AfterSeq, h.PrevHash)
	for n := 2; lines.Scan(); n++ {
		var e Entry
		err := json.Unmarshal(lines.Bytes(), &e)
		if err != nil {
			w.Report.Add(Problem{Line: n, What: "It is no entry."})
			continue
		}
		// Further fields, or one twice, would be no part of the hash.
		if text, err := encode(e); err != nil || !bytes.Equal(bytes.TrimSuffix(text, []byte("\n")), lines.Bytes()) {
			w.Report.Add(Problem{Line: n, Seq: e.Seq, ID: e.ID, What: "The line is not as it was written."})
		}
		w.Add(n, e)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	w.End(h.LastSeq, h.LastHash)
	return &w.Report, nil
}

func verifyRows(in *bufio.Reader) (*Report, error) {
	rows := csv.NewReader(in)
	rows.FieldsPerRecord, rows.ReuseRecord = len(Columns()), true
	head, err := rows.Read()
	if err != nil || !slices.Equal(head, Columns()) {
		return nil, fmt.Errorf("%w: its first row does not name the columns", ErrFile)
	}
	var w *Walk
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		line, _ := rows.FieldPos(0)
		if w == nil && err == nil {
			seq, _ := strconv.ParseInt(row[1], 10, 64) // not a number: its row is no entry, below
			w = NewWalk(unquoted(row[0]), seq-1, unquoted(row[len(row)-2]))
		}
		switch {
		case errors.Is(err, csv.ErrFieldCount) && w != nil:
			w.Report.Add(Problem{Line: line, What: "It is no entry."})
			continue
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrFile, err)
		}
		e, prev, ok := entryOf(row)
		switch {
		case !ok:
			w.Report.Add(Problem{Line: line, What: "It is no entry."})
			continue
		case prev != w.prev:
			w.Report.Add(Problem{Line: line, Seq: e.Seq, ID: e.ID, What: "The entry before it has another hash."})
		}
		w.Add(line, e)
	}
	if w == nil {
		w = NewWalk("", 0, "")
	}
	return &w.Report, nil
}

func unquoted(s string) string { return strings.TrimPrefix(s, "'") }

func entryOf(row []string) (e Entry, prev string, ok bool) {
	for i := range row {
		row[i] = unquoted(row[i])
	}
	seq, notSeq := strconv.ParseInt(row[1], 10, 64)
	status, notStatus := strconv.Atoi(row[8])
	return Entry{TeamID: row[0], Seq: seq, ID: row[2], CreatedAt: row[3], UserID: row[4], Email: row[5], Action: row[6],
		Object: row[7], Status: status, Method: row[9], Path: row[10], IP: row[11], Source: row[12], Hash: row[14],
	}, row[13], notSeq == nil && notStatus == nil
}
