package tracker

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// servicenow uses ServiceNow's Table API: records of one table, which is one of incidents.
func (f *Filer) servicenow(t Tracker) service {
	authorization := "Bearer " + t.Token
	if t.Username != "" {
		login := t.Username + ":" + cmp.Or(t.Password, t.Token)
		authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(login))
	}
	s := servicenow{rest{
		f, "ServiceNow", t.BaseURL + "/api/now/table", []string{t.Token, t.Password},
		http.Header{"Authorization": {authorization}}, "/" + t.Table,
	}, t}
	return service{s.find, s.open, s.comment, s.who, s.get, s.set, s.notes, s.changed}
}

type servicenow struct {
	rest

	t Tracker
}

type record struct {
	ID        string `json:"sys_id"`
	State     string `json:"state"`
	CloseCode string `json:"close_code"`
	Updated   string `json:"sys_updated_on"` // in UTC
	Count     string `json:"sys_mod_count"`
}

const (
	recordFields = "sys_id,state,close_code,sys_updated_on,sys_mod_count"
	recordTime   = "2006-01-02 15:04:05"
)

// The values of state in the table of incidents.
const (
	recordNew, recordDoing, recordHold, recordResolved, recordClosed, recordCanceled = "1", "2", "3", "6", "7", "8"
)

func (s servicenow) issue(id string) Issue {
	return Issue{id, s.t.BaseURL + "/nav_to.do?uri=" + url.QueryEscape(s.t.Table+".do?sys_id="+id)}
}

// query is the path of a query.
func (s servicenow) query(table, query, fields string, limit, offset int) string {
	v := url.Values{"sysparm_query": {query}, "sysparm_fields": {fields}, "sysparm_limit": {strconv.Itoa(limit)},
		"sysparm_offset": {strconv.Itoa(offset)}, "sysparm_exclude_reference_link": {"true"}}
	return "/" + table + "?" + v.Encode()
}

// find leaves out what is closed: such a record cannot be opened again, so a new one takes its place.
func (s servicenow) find(ctx context.Context, mark string) (Issue, error) {
	var answer struct{ Result []record }
	query := "correlation_id=" + mark + "^stateNOT IN" + recordClosed + "," + recordCanceled + "^ORDERBYsys_created_on"
	err := s.call(ctx, http.MethodGet, s.query(s.t.Table, query, recordFields, 1, 0), nil, &answer)
	if err != nil || len(answer.Result) == 0 {
		return Issue{}, err
	}
	return s.issue(answer.Result[0].ID), nil
}

func (s servicenow) open(ctx context.Context, finding Finding, text string) (Issue, error) {
	body := map[string]any{
		"short_description": title(finding), "description": text, "correlation_id": mark(finding.Hash),
		"correlation_display": "vedette", "state": recordNew,
	}
	maps.Copy(body, s.t.Fields)
	var answer struct{ Result record }
	if err := s.call(ctx, http.MethodPost, s.issues, body, &answer); err != nil || answer.Result.ID == "" {
		return Issue{}, err
	}
	return s.issue(answer.Result.ID), nil
}

func (s servicenow) comment(ctx context.Context, i Issue, text string) error {
	return gone(s.call(ctx, http.MethodPatch, s.one(i), map[string]any{"work_notes": text}, nil))
}

func (s servicenow) who(ctx context.Context) (Account, error) {
	if s.t.Username == "" { // the token's user cannot be asked for by name
		var answer struct{ Result []record }
		err := s.call(ctx, http.MethodGet, s.query(s.t.Table, "", "sys_id", 1, 0), nil, &answer)
		if err == nil && answer.Result == nil {
			err = noName(s.service)
		}
		return Account{Name: "the user of its token"}, err
	}
	var answer struct {
		Result []struct {
			UserName string `json:"user_name"`
			Name     string `json:"name"`
		}
	}
	path := s.query("sys_user", "user_name="+s.t.Username, "user_name,name", 1, 0)
	if err := s.call(ctx, http.MethodGet, path, nil, &answer); err != nil {
		return Account{}, err
	}
	if len(answer.Result) == 0 {
		return Account{}, noName(s.service)
	}
	who, err := named(s.service, answer.Result[0].UserName, answer.Result[0].Name)
	if err != nil {
		return who, err
	}
	return who, s.call(ctx, http.MethodGet, s.query(s.t.Table, "", "sys_id", 1, 0), nil, nil)
}

func (s servicenow) get(ctx context.Context, i Issue) (Remote, error) {
	var answer struct{ Result record }
	if err := s.call(ctx, http.MethodGet, s.one(i)+"?sysparm_fields="+recordFields, nil, &answer); err != nil {
		return Remote{Issue: i}, gone(err)
	}
	is := answer.Result
	if is.ID == "" {
		return Remote{Issue: i}, ErrGone
	}
	r := Remote{Issue: s.issue(is.ID), State: Open, Native: is.State, Version: is.version()}
	switch is.State {
	case recordDoing, recordHold:
		r.State = Progress
	case recordResolved:
		r.State = Done
	case recordClosed:
		if r.State, r.Final = Done, true; is.CloseCode == s.t.DeclinedCode || declines(is.CloseCode) {
			r.State, r.Native = Declined, is.State+" "+is.CloseCode
		}
	case recordCanceled:
		r.State, r.Final = Declined, true
	}
	return r, nil
}

// version is the number of changes, padded; Updated has seconds only.
func (r record) version() string {
	n, _ := strconv.Atoi(r.Count) // absent where the user may not read it: then the time alone counts
	return r.Updated + fmt.Sprintf(" %08d", n)
}

// set changes a record that is not closed for good.
func (s servicenow) set(ctx context.Context, now Remote, to State) error {
	if now.Final {
		return ErrNoWay
	}
	body := map[string]any{"state": recordNew}
	switch to {
	case Progress:
		body["state"] = recordDoing
	case Done:
		body = map[string]any{"state": recordResolved, "close_code": s.t.CloseCode, "close_notes": closeNotes}
	case Declined:
		body = map[string]any{"state": recordClosed, "close_code": s.t.DeclinedCode, "close_notes": closeNotes}
	case Open:
	}
	return gone(s.call(ctx, http.MethodPatch, s.one(now.Issue), body, nil))
}

const closeNotes = "Closed with the finding in Vedette."

func (s servicenow) notes(ctx context.Context, i Issue, since time.Time) (out []Note, err error) {
	var answer struct {
		Result []struct {
			ID      string `json:"sys_id"`
			Value   string `json:"value"`
			Author  string `json:"sys_created_by"`
			Created string `json:"sys_created_on"`
		}
	}
	query := "element_id=" + i.ID + "^elementINcomments,work_notes"
	if !since.IsZero() {
		query += "^sys_created_on>=" + since.UTC().Format(recordTime)
	}
	path := s.query("sys_journal_field", query+"^ORDERBYsys_created_on", "sys_id,value,sys_created_by,sys_created_on",
		maxNotes, 0)
	err = s.call(ctx, http.MethodGet, path, nil, &answer)
	for _, n := range answer.Result {
		at, _ := time.Parse(recordTime, n.Created)
		out = append(out, Note{ID: n.ID, Author: n.Author, Text: strings.TrimSpace(n.Value), At: at})
	}
	return out, gone(err)
}

func (s servicenow) changed(ctx context.Context, since time.Time) (Changes, error) {
	var rows rowsOf
	query := "correlation_idSTARTSWITH" + marked + "^sys_updated_on>=" + since.UTC().Format(recordTime) +
		"^ORDERBYsys_updated_on"
	more, err := pages(func(page int) (bool, error) {
		var answer struct{ Result []record }
		err := s.call(ctx, http.MethodGet, s.query(s.t.Table, query, recordFields, perPage, (page-1)*perPage), nil, &answer)
		for _, r := range answer.Result {
			at, _ := time.Parse(recordTime, r.Updated)
			rows.issues, rows.times = append(rows.issues, Changed{ID: r.ID, Version: r.version()}), append(rows.times, at)
		}
		return len(answer.Result) < perPage, err
	})
	return changesOf(since, rows.issues, rows.times, more), err
}
