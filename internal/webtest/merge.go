package webtest

import (
	"slices"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// maxWhere is how many places of one cause are listed.
const maxWhere = 200

// cause is equal for findings that one fault of the application makes: of one class, in one handler, by one input.
func cause(class string, r *message.Request, p message.Place) string {
	if before := r.Before(p.Step); p.Step > 0 && before != nil { // another fault than one where the value comes in
		q := p
		q.Step = 0
		return cause(class, before, q) + "\nthen " + r.URL.Host + message.PathShape(r.URL.EscapedPath())
	}
	at := r.URL.Scheme + "://" + r.URL.Host + message.PathShape(r.URL.EscapedPath())
	if p.Component == message.Path {
		at = r.URL.Scheme + "://" + r.URL.Host // the segment names itself
		at += message.PathShape(r.Put(message.Place{Component: p.Component, Name: p.Name}, "*").URL.EscapedPath())
	}
	return class + "\n" + at + choiceOf(r) + "\n" + string(p.Component) + " " + p.Name
}

// choiceOf are the parameters of a request by which one address does several things: the method alone tells nothing,
// as many handlers take both.
func choiceOf(r *message.Request) string {
	out := ""
	for _, p := range message.Places(r) {
		if slices.Contains([]string{"action", "do", "op", "page", "module"}, p.Name) && p.Component != message.Header {
			out += " " + p.Name + "=" + p.Value //nolint:modernize,perfsprint // a few words
		}
	}
	return out
}

// causeOf is the cause of a finding. What is seen in answers alone is one fault of its site, wherever it is seen.
func (r *run) causeOf(f Finding) string {
	for i := range r.Checks {
		c := &r.Checks[i]
		if c.ID == f.Check && (c.Passive != nil || c.Site != nil) && f.Place.Component == "" {
			host := ""
			if f.Request != nil {
				host = f.Request.URL.Scheme + "://" + f.Request.URL.Host
			}
			return f.Check + "\n" + f.Title + "\n" + f.Detail + "\n" + host
		}
	}
	if f.Request == nil {
		return f.Check + "\n" + f.Title + "\n" + f.Detail
	}
	if f.Class == "cors" { // one rule answers for all addresses of a host; what may be read by it differs
		return f.Class + "\n" + f.Request.URL.Scheme + "://" + f.Request.URL.Host + "\n" + f.Detail
	}
	return cause(f.Class, f.Request, f.Place)
}

func (r *run) isFound(cause string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.classes[cause]
}

// found is World.Report.
func (r *run) found(f Finding) {
	if !r.isFound(r.causeOf(f)) {
		r.reprove(r.ctx, &f)
	}
	r.mu.Lock()
	if f.Confidence != kit.Probable {
		r.classes[r.causeOf(f)] = true
	}
	wait := r.batching || r.stage.Stage == "look"
	if wait {
		r.pending = append(r.pending, f)
	}
	r.mu.Unlock()
	if !wait {
		r.take(true, f)
	}
}

// take takes findings in: of a cause that is known the place is added, new ones are noted and told of, with all places
// that are among them.
func (r *run) take(fresh bool, all ...Finding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var news []int
	for _, f := range all {
		if at, isNew := r.merge(f); isNew {
			news = append(news, at)
		}
	}
	if !fresh {
		return
	}
	for _, at := range news {
		f := r.report.Findings[at]
		_ = r.journal.note(record{Finding: &f, Sent: r.client.Sent()}) // its error ends the run after the target
		if r.OnFinding != nil {
			r.OnFinding(f)
		}
	}
}

// merge is the index of a finding, and whether its cause is new, or was only probable.
func (r *run) merge(f Finding) (at int, isNew bool) {
	key := r.causeOf(f)
	if f.Confidence != kit.Probable {
		r.classes[key] = true
	}
	at, ok := r.merged[key]
	if !ok {
		at = len(r.report.Findings)
		r.merged[key] = at
		r.report.Findings = append(r.report.Findings, f)
		return at, true
	}
	known := &r.report.Findings[at]
	if known.Confidence == kit.Probable && f.Confidence != kit.Probable {
		*known = f
		return at, true
	}
	where := whereOf(f)
	if where != whereOf(*known) && !slices.Contains(known.Where, where) && len(known.Where) < maxWhere {
		known.Where = append(known.Where, where)
	}
	return at, false
}

// whereOf is the place of a finding for people.
func whereOf(f Finding) string {
	if f.Request == nil {
		return ""
	}
	where := f.Request.Method + " " + f.Request.URL.Redacted()
	if f.Place.Component != "" {
		where += " " + f.Place.String()
	}
	return where
}
