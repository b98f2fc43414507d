package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine"
)

// sink takes the findings of a scan.
type sink struct {
	w     io.Writer
	file  *os.File
	jsonl bool
	worst int // the best rank seen
	err   error
}

func newSink(out io.Writer, f scanFlags) (*sink, error) {
	s := &sink{w: out, jsonl: f.jsonl || f.out == "json", worst: len(severities)}
	if f.out != "" && f.out != "json" {
		how := os.O_TRUNC
		if f.resume != "" {
			how = os.O_APPEND // what an earlier run has found stays
		}
		file, err := os.OpenFile(f.out, os.O_WRONLY|os.O_CREATE|how, 0o600)
		if err != nil {
			return nil, err
		}
		s.file, s.w = file, io.MultiWriter(out, file)
	}
	return s, nil
}

// write prints one finding at once; the engine calls it for one at a time.
func (s *sink) write(e engine.Event) {
	severity := string(e.Info.Severity)
	s.worst = min(s.worst, severityRank(severity))
	var err error
	if s.jsonl {
		encoder := json.NewEncoder(s.w)
		encoder.SetEscapeHTML(false)
		err = encoder.Encode(e)
	} else {
		extracted := ""
		if len(e.ExtractedResults) > 0 {
			extracted = " [" + strings.Join(e.ExtractedResults, ", ") + "]"
		}
		name := e.TemplateID
		if e.MatcherName != "" {
			name += ":" + e.MatcherName
		}
		_, err = fmt.Fprintf(s.w, "[%s] [%s] %s%s\n", printable(name), severity, printable(e.MatchedAt), printable(extracted))
	}
	s.err = errors.Join(s.err, err)
}

// remember counts findings of an earlier run of the same scan.
func (s *sink) remember(severities []string) {
	for _, severity := range severities {
		s.worst = min(s.worst, severityRank(severity))
	}
}

func (s *sink) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
