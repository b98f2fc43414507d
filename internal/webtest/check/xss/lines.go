package xss

import (
	"context"
	"html"
	"net/http"
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

var (
	stamped = regexp.MustCompile(`^[\s\[<("]{0,3}(?:\d{4}-\d\d-\d\d|\d\d?[:/.]\d\d|\d\d?/[A-Z][a-z]{2}/\d{4}` +
		`|[A-Z][a-z]{2} +\d{1,2} \d\d:|(?:TRACE|DEBUG|INFO|WARN|ERROR)\b)`)
	asLines = regexp.MustCompile(`(?is)<(?:pre|textarea|samp|code)\b[^>]*>(.*?)</(?:pre|textarea|samp|code)\s*>`)
)

// forgedLines is the key of a finding of forged lines, which the reading of pages for stored scripts has made.
type forgedLines struct{ by *message.Request }

// logLines is the check for lines of a log that a value forges. What stored has found while it read the pages is
// reported: nothing more is sent.
func logLines() kit.Check {
	c := kit.Check{ID: "log-lines", Class: "log-injection", Level: client.Safe}.Describe()
	c.After = func(_ context.Context, w *kit.World) error {
		w.Memo.Range(func(key, value any) bool {
			if _, ok := key.(forgedLines); ok {
				f, _ := value.(kit.Finding)
				w.Found(&c, f)
			}
			return true
		})
		return nil
	}
	return c
}

// maxLogLine is how many letters of a line stand before the word at most.
const maxLogLine = 300

// lines are the lines of a page as a reader sees them: of a text, or of what is shown as it is.
func lines(r *message.Response) (all []string) {
	if r.Type() == "text/plain" {
		return strings.Split(string(r.Body), "\n")
	}
	for _, m := range asLines.FindAllSubmatch(r.Body, 20) {
		all = append(all, strings.Split(html.UnescapeString(string(m[1])), "\n")...)
	}
	return all
}

// logged follows words that stand in lines with a time, as those of a log do: a line break and the beginning of such a
// line are sent with them, and the page must have a line of its own for what follows, twice. Four requests for each.
func (s *storing) logged(ctx context.Context, r *message.Request, as *client.User, answer *message.Response) error {
	if r.Method != http.MethodGet {
		return nil
	}
	for _, line := range lines(answer) {
		word := client.TestWord.FindString(line)
		p, ok := s.words[word]
		head, _, _ := strings.Cut(line, word)
		if !ok || !stamped.MatchString(line) || len(head) > maxLogLine {
			continue
		}
		key := "line " + path(p.Target.Request) + " " + p.Place.String()
		if s.done[key] {
			continue
		}
		s.done[key] = true
		if err := s.forge(ctx, p, head, r, as); err != nil {
			return err
		}
	}
	return nil
}

// forge writes a line of a log that the application has not written.
func (s *storing) forge(ctx context.Context, p kit.Planted, head string, shown *message.Request,
	as *client.User) error {
	var evidence []kit.Evidence
	var sent *message.Request
	payload := ""
	for range 2 {
		first, second := kit.Word(), kit.Word()
		payload = first + "\n" + head + second
		sent = p.Target.Request.Put(p.Place, payload)
		if _, err := s.Try(ctx, p.Target, p.Place, payload); err != nil {
			return err
		}
		answer, err := s.Client.Send(ctx, shown, client.Options{As: as})
		if err != nil {
			return err
		}
		forged := ""
		for _, line := range lines(answer) {
			if strings.HasPrefix(line, head+second) {
				forged = line
			}
		}
		if forged == "" {
			return nil
		}
		evidence = append(evidence, kit.Evidence{Request: shown, Response: answer, Match: forged,
			Note: "a line that the application has not written stands in its log"})
	}
	s.Memo.Store(forgedLines{sent}, kit.Finding{Request: sent, Place: p.Place, Payload: payload,
		Detail: "shown by " + shown.URL.Path, Evidence: evidence})
	return nil
}
