package llm

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

const (
	maxListed     = 500     // of Validate
	listBytes     = 4 << 20 // of the answer
	maxModelBytes = 200
)

// Validate tries a key with a request that costs nothing and returns up to 500 models, sorted. From a server without a
// list it requests one token of model, unless that is empty. Errors are those of Complete.
func Validate(ctx context.Context, c Config, model string) ([]string, error) {
	c, err := c.resolve()
	if err != nil {
		return nil, err
	}
	c = c.withDefaults("")
	c.Retries = -1
	var names []string
	_, err = c.call(ctx, Request{MaxTokens: listBytes / bytesPerToken},
		func(ctx context.Context, client *http.Client) (Response, error) {
			if c.Provider == ProviderOpenRouter { // its list is public
				if _, err := c.get(ctx, client, "key"); err != nil {
					return Response{}, err
				}
			}
			text, err := c.get(ctx, client, "models")
			if s := (*status)(nil); errors.As(err, &s) &&
				(s.code == http.StatusNotFound || s.code == http.StatusMethodNotAllowed) && model != "" {
				return Response{}, nil
			}
			if err != nil {
				return Response{}, err
			}
			names, err = listed(text)
			return Response{}, err
		})
	if err != nil || names != nil || model == "" {
		return names, err
	}
	m, err := Open(c)
	if err != nil {
		return nil, err
	}
	_, err = m.Complete(ctx, Request{Model: model, Messages: []Message{{Role: User, Text: "Hello"}}, MaxTokens: 1}, nil)
	return []string{}, err
}

// listed reads {"data": [{"id"}]}, the same at all providers.
func listed(text []byte) ([]string, error) {
	var doc struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.Unmarshal(text, &doc) != nil || doc.Data == nil {
		return nil, malformed("it is no list of models")
	}
	names := []string{}
	for _, m := range doc.Data {
		name := strings.TrimPrefix(m.ID, "models/") // of Google
		if name != "" && len(name) <= maxModelBytes && printable(name, "") == name {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return names[:min(len(names), maxListed)], nil
}

func (c Config) get(ctx context.Context, client *http.Client, path string) ([]byte, error) {
	r, err := c.ask(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// ask is a request below the base URL, with its query and the key.
func (c Config) ask(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	u, err := url.Parse(c.BaseURL)
	if err != nil {
		return nil, err
	}
	if c.Provider == ProviderAnthropic {
		u.Path, path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1"), "v1/"+path
	}
	r, err := http.NewRequestWithContext(ctx, method, u.JoinPath(path).String(), body)
	if err != nil {
		return nil, err
	}
	switch {
	case c.Key == "":
	case c.Provider == ProviderAnthropic:
		r.Header.Set("X-Api-Key", c.Key)
		r.Header.Set("Anthropic-Version", "2023-06-01")
	case strings.HasSuffix(u.Hostname(), ".azure.com"):
		r.Header.Set("Api-Key", c.Key)
	default:
		r.Header.Set("Authorization", "Bearer "+c.Key)
	}
	return r, nil
}
