package web

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Request is the request of a case with a value in its input.
func (c *Case) Request(ctx context.Context, p Place, value string) (*http.Request, error) {
	value = p.Fill(c, value)
	at, method, body, kind := p.Self+c.Path, http.MethodGet, "", ""
	fields := map[string]string{c.Param: value}
	if c.Sink == "login" {
		fields["pass"] = "wrong"
	}
	switch c.Source {
	case "query":
		at += "?" + url.Values{c.Param: {value}}.Encode()
	case "path":
		at += "/" + url.PathEscape(value)
	case "form", "kept", "steps":
		form := url.Values{}
		for name, text := range fields {
			form.Set(name, text)
		}
		method, body, kind = http.MethodPost, form.Encode(), "application/x-www-form-urlencoded"
	case "json":
		text, err := json.Marshal(fields)
		if err != nil {
			return nil, err
		}
		method, body, kind = http.MethodPost, string(text), "application/json"
	case "xml":
		method, body, kind = http.MethodPost, value, "application/xml"
	}
	r, err := http.NewRequestWithContext(ctx, method, at, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	switch c.Source {
	case "header":
		r.Header.Set(c.Param, value)
	case "cookie":
		r.Header.Set("Cookie", c.Param+"="+url.PathEscape(value))
	}
	return r, nil
}

// later sends the first of two requests, and is the second, of the same visitor.
func (c *Case) later(client *http.Client, first *http.Request, p Place) (*http.Request, error) {
	answer, err := client.Do(first)
	if err != nil {
		return nil, err
	}
	answer.Body.Close()
	method, body := http.MethodGet, ""
	if c.Source == "steps" {
		method, body = http.MethodPost, "sure=yes"
	}
	r, err := http.NewRequestWithContext(first.Context(), method, p.Self+c.Later(), strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, cookie := range answer.Cookies() {
		r.AddCookie(cookie)
	}
	return r, nil
}

// Shows reports whether the proof of a case shows a weakness of it at a place, and says what came instead.
func (c *Case) Shows(ctx context.Context, client *http.Client, p Place) (bool, string, error) {
	r, err := c.Request(ctx, p, c.Proof)
	if err == nil && c.Later() != "" {
		r, err = c.later(client, r, p)
	}
	if err != nil {
		return false, "", err
	}
	began := time.Now()
	answer, err := client.Do(r)
	if err != nil {
		return false, "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return false, "", err
	}
	got := fmt.Sprintf("%d %s %.300q", answer.StatusCode, answer.Header.Get("Location"), body)
	if text, ok := strings.CutPrefix(c.Expect, "re:"); ok {
		pattern, err := regexp.Compile(text)
		if err != nil {
			return false, "", err
		}
		return pattern.Match(body) && strings.HasPrefix(answer.Header.Get("Content-Type"), "text/html"), got, nil
	}
	if text, ok := strings.CutPrefix(c.Expect, "to:"); ok {
		return strings.HasPrefix(answer.Header.Get("Location"), text), got, nil
	}
	if c.Expect == "slow" {
		return time.Since(began) > 1900*time.Millisecond, got, nil
	}
	status, err := strconv.Atoi(c.Expect)
	return answer.StatusCode == status, got, err
}
