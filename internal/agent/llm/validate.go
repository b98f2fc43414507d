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
	maxListed     = 500     // models that Validate lists
	listBytes     = 4 << 20 // of the provider's answer
	maxModelBytes = 200     // of a model's name
)

// Validate tries a key with one bounded call that costs nothing, the list of models, and
// gives what the list says: at most 500 names, sorted. A server without such a list is
// asked for one token of model instead, when that is not empty. Errors are as Complete's.
func Validate(ctx context.Context, c Config, model string) ([]string, error) {
	_, c, err := c.resolve()
	if err != nil {
		return nil, err
	}
	c = c.withDefaults("")
	c.Retries = -1
	var names []string
	_, err = c.call(ctx, Request{MaxTokens: listBytes / bytesPerToken}, func(ctx context.Context, client *http.Client) (Response, error) {
		if c.Provider == ProviderOpenRouter { // whose list is everybody's
			if _, err := c.get(ctx, client, "key"); err != nil {
				return Response{}, err
			}
		}
		text, err := c.get(ctx, client, "models")
		if s := (*status)(nil); errors.As(err, &s) && (s.code == http.StatusNotFound || s.code == http.StatusMethodNotAllowed) && model != "" {
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

// listed reads the list of models: {"data": [{"id"}]}, at OpenAI's, Anthropic's and all
// that follow them.
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
		name := strings.TrimPrefix(m.ID, "models/") // as Google writes them
		if name != "" && len(name) <= maxModelBytes && printable(name, "") == name {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return names[:min(len(names), maxListed)], nil
}

// get asks an address below the base URL.
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

// ask is a request to an address below the base URL, whose query it keeps, with the key
// where the provider looks for it.
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
