package names

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
)

var ownSources = []source{
	{"certspotter", false, certspotter},
	{"chaos", true, chaos},
	{"crtsh", false, crtsh},
	{"urlscan", false, urlscan},
}

// get fetches JSON; header is one "Name: value", or empty. Any status but 200 is an error. Close the body.
func get(ctx context.Context, client *http.Client, from, header string) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	if name, value, ok := strings.Cut(header, ": "); ok {
		r.Header.Set(name, value)
	}
	answer, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		_, _ = io.CopyN(io.Discard, answer.Body, maxBodyStart)
		answer.Body.Close()
		return nil, fmt.Errorf("it answered with HTTP status %d", answer.StatusCode)
	}
	return answer.Body, nil
}

// list reads a JSON array element by element, to save memory.
func list[T any](from io.Reader, each func(T)) error {
	dec := json.NewDecoder(from)
	if t, err := dec.Token(); err != nil {
		return err
	} else if t != json.Delim('[') {
		return errors.New("its answer is no list")
	}
	for dec.More() {
		var one T
		if err := dec.Decode(&one); err != nil {
			return err
		}
		each(one)
	}
	return nil
}

// header is a header field with a random one of the keys; "" without keys.
func header(before string, keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return before + keys[rand.IntN(len(keys))]
}

func decode(ctx context.Context, client *http.Client, from, header string, out any) error {
	body, err := get(ctx, client, from, header)
	if err != nil {
		return err
	}
	defer body.Close()
	return json.NewDecoder(body).Decode(out)
}

// crtsh asks crt.sh for certificates of names below the domain; name_value has a name a line.
func crtsh(ctx context.Context, client *http.Client, _ []string, domain string, emit func(string)) error {
	body, err := get(ctx, client, "https://crt.sh/?output=json&q="+url.QueryEscape("%."+domain), "")
	if err != nil {
		return err
	}
	defer body.Close()
	return list(body, func(c struct {
		Name   string `json:"common_name"`
		Values string `json:"name_value"`
	}) {
		emit(c.Name)
		for line := range strings.SplitSeq(c.Values, "\n") {
			emit(line)
		}
	})
}

// certspotter asks SSLMate's Cert Spotter for issuances, page by page; with a key there are more.
func certspotter(ctx context.Context, client *http.Client, keys []string, domain string, emit func(string)) error {
	for after := ""; ; {
		query := url.Values{"include_subdomains": {"true"}, "expand": {"dns_names"}, "domain": {domain}}
		if after != "" {
			query.Set("after", after)
		}
		from := "https://api.certspotter.com/v1/issuances?" + query.Encode()
		body, err := get(ctx, client, from, header("Authorization: Bearer ", keys))
		if err != nil {
			return err
		}
		last := ""
		err = list(body, func(c struct {
			ID    string   `json:"id"`
			Names []string `json:"dns_names"`
		}) {
			last = c.ID
			for _, name := range c.Names {
				emit(name)
			}
		})
		body.Close()
		if err != nil || last == "" || last == after {
			return err
		}
		after = last
	}
}

// chaos asks ProjectDiscovery's Chaos for the labels below the domain.
func chaos(ctx context.Context, client *http.Client, keys []string, domain string, emit func(string)) error {
	var answer struct {
		Labels []string `json:"subdomains"`
	}
	from := "https://dns.projectdiscovery.io/dns/" + url.PathEscape(domain) + "/subdomains"
	err := decode(ctx, client, from, header("Authorization: ", keys), &answer)
	for _, label := range answer.Labels {
		emit(label + "." + domain)
	}
	return err
}

// urlscan asks urlscan.io for the hosts of scanned pages.
func urlscan(ctx context.Context, client *http.Client, keys []string, domain string, emit func(string)) error {
	var answer struct {
		Results []struct{ Page, Task struct{ Domain string } }
	}
	from := "https://urlscan.io/api/v1/search/?size=1000&q=" + url.QueryEscape("domain:"+domain)
	err := decode(ctx, client, from, header("API-Key: ", keys), &answer)
	for _, r := range answer.Results {
		emit(r.Page.Domain)
		emit(r.Task.Domain)
	}
	return err
}
