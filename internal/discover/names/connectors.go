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

// connectors are the sources that we ask by ourselves.
var connectors = []source{
	{"certspotter", false, certspotter},
	{"chaos", true, chaos},
	{"crtsh", false, crtsh},
	{"urlscan", false, urlscan},
}

// get asks a URL for JSON; header is one "Name: value", or empty. The caller closes the
// body. Any status but 200 is an error; the witness knows which.
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
		_, _ = io.CopyN(io.Discard, answer.Body, maxOpening)
		answer.Body.Close()
		return nil, fmt.Errorf("it answered with HTTP status %d", answer.StatusCode)
	}
	return answer.Body, nil
}

// list reads a JSON array element by element, so that a long one needs no memory.
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

// anyOf picks one of the keys, or "".
func anyOf(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return keys[rand.IntN(len(keys))]
}

// crtsh asks crt.sh for certificates of names below the domain: a list of objects whose
// name_value has a name a line.
func crtsh(ctx context.Context, client *http.Client, _ []string, domain string, say func(string)) error {
	body, err := get(ctx, client, "https://crt.sh/?output=json&q="+url.QueryEscape("%."+domain), "")
	if err != nil {
		return err
	}
	defer body.Close()
	return list(body, func(c struct {
		Name   string `json:"common_name"`
		Values string `json:"name_value"`
	}) {
		say(c.Name)
		for line := range strings.SplitSeq(c.Values, "\n") {
			say(line)
		}
	})
}

// certspotter asks SSLMate's Cert Spotter for issuances, a page at a time; with a key it
// tells more of them.
func certspotter(ctx context.Context, client *http.Client, keys []string, domain string, say func(string)) error {
	header := ""
	if key := anyOf(keys); key != "" {
		header = "Authorization: Bearer " + key
	}
	for after := ""; ; {
		from := "https://api.certspotter.com/v1/issuances?include_subdomains=true&expand=dns_names&domain=" + url.QueryEscape(domain)
		if after != "" {
			from += "&after=" + url.QueryEscape(after)
		}
		body, err := get(ctx, client, from, header)
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
				say(name)
			}
		})
		body.Close()
		if err != nil || last == "" || last == after {
			return err
		}
		after = last
	}
}

// chaos asks ProjectDiscovery's Chaos, which gives the labels below the domain.
func chaos(ctx context.Context, client *http.Client, keys []string, domain string, say func(string)) error {
	body, err := get(ctx, client, "https://dns.projectdiscovery.io/dns/"+url.PathEscape(domain)+"/subdomains", "Authorization: "+anyOf(keys))
	if err != nil {
		return err
	}
	defer body.Close()
	var answer struct {
		Labels []string `json:"subdomains"`
	}
	if err := json.NewDecoder(body).Decode(&answer); err != nil {
		return err
	}
	for _, label := range answer.Labels {
		say(label + "." + domain)
	}
	return nil
}

// urlscan asks urlscan.io for the hosts of pages that were looked at.
func urlscan(ctx context.Context, client *http.Client, keys []string, domain string, say func(string)) error {
	header := ""
	if key := anyOf(keys); key != "" {
		header = "API-Key: " + key
	}
	body, err := get(ctx, client, "https://urlscan.io/api/v1/search/?size=1000&q="+url.QueryEscape("domain:"+domain), header)
	if err != nil {
		return err
	}
	defer body.Close()
	type host struct{ Domain string }
	var answer struct {
		Results []struct{ Page, Task host }
	}
	if err := json.NewDecoder(body).Decode(&answer); err != nil {
		return err
	}
	for _, r := range answer.Results {
		say(r.Page.Domain)
		say(r.Task.Domain)
	}
	return nil
}
