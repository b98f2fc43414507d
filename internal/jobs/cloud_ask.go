package jobs

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/notify"
)

// The bounds of asking a provider.
const (
	maxCloudAnswer = 8 << 20 // bytes
	cloudTries     = 4       // of one call that the provider wants later
	cloudWait      = time.Second
	maxCloudWait   = 30 * time.Second
)

// refusal is an error of a provider, and how that is told in a report.
type refusal struct {
	told  notify.Error
	state discover.SourceState
}

// Error implements error.
func (r *refusal) Error() string { return r.told.Error() }

// ask sends a call to a provider and reads its answer, which it gives to read. What the
// provider wants later is sent again, some times; request makes it anew for each time, so
// that signatures are of their moment.
func (c clouds) ask(ctx context.Context, service string, secrets []string, request func() (*http.Request, error), read func([]byte) error) error {
	for try := 1; ; try++ {
		req, err := request()
		if err != nil {
			return err
		}
		text, after, err := c.once(req, service, secrets)
		if err == nil {
			if read(text) != nil {
				return &refusal{notify.Error{Service: service, Status: http.StatusOK, Said: "its answer is not what was asked for"}, discover.SourceFailed}
			}
			return nil
		}
		if r, ok := errors.AsType[*refusal](err); !ok || r.state != discover.SourceLimited || try == cloudTries {
			return err
		}
		select {
		case <-time.After(min(max(after, c.wait<<(try-1)), maxCloudWait)):
		case <-ctx.Done():
			return err
		}
	}
}

// once sends a call one time.
func (c clouds) once(req *http.Request, service string, secrets []string) (text []byte, after time.Duration, err error) {
	req.Header.Set("User-Agent", "vedette")
	resp, err := c.client.Do(req)
	if err != nil {
		r := &refusal{notify.Error{Service: service, Said: "the request failed"}, discover.SourceFailed}
		var network net.Error
		refused, ok := errors.AsType[*errs.Error](err)
		switch {
		case ok && refused.Code == netguard.CodeBlocked:
			r.told.Said, r.state = "this server may not dial its address", discover.SourceBlocked
		case errors.As(err, &network) && network.Timeout():
			r.told.Said, r.state = "it did not answer in time", discover.SourceTimedOut
		}
		return nil, 0, r
	}
	defer resp.Body.Close()
	text, err = io.ReadAll(io.LimitReader(resp.Body, maxCloudAnswer+1))
	if err != nil || len(text) > maxCloudAnswer {
		return nil, 0, &refusal{notify.Error{Service: service, Status: resp.StatusCode, Said: "its answer broke off, or is too long"}, discover.SourceFailed}
	}
	if resp.StatusCode == http.StatusOK {
		return text, 0, nil
	}
	code, words := complaint(text)
	for _, secret := range secrets {
		if len(secret) > 3 {
			code, words = strings.ReplaceAll(code, secret, "********"), strings.ReplaceAll(words, secret, "********")
		}
	}
	seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
	said := strings.TrimSpace(fmt.Sprintf("%.60s %.200s", code, words))
	return nil, time.Duration(seconds) * time.Second, &refusal{notify.Error{Service: service, Status: resp.StatusCode, Said: strings.Join(strings.Fields(said), " ")}, stateOfCode(resp.StatusCode, code)}
}

// complaint finds the code and the words of an error in what a provider answered: the XML
// of AWS, or the JSON of Google and Azure.
func complaint(text []byte) (code, words string) {
	var doc struct {
		Error json.RawMessage `json:"error"`
		About string          `json:"error_description"` // RFC 6749
	}
	if json.Unmarshal(text, &doc) == nil {
		var detail struct {
			Code, Status any
			Message      string
		}
		if json.Unmarshal(doc.Error, &code) == nil {
			return code, doc.About
		}
		_ = json.Unmarshal(doc.Error, &detail) // of another shape, it says nothing
		if status, ok := detail.Status.(string); ok {
			return status, detail.Message
		}
		code, _ = detail.Code.(string)
		return code, detail.Message
	}
	read := xml.NewDecoder(strings.NewReader(string(text)))
	for field := (*string)(nil); ; {
		token, err := read.Token()
		if err != nil {
			return code, words
		}
		switch t := token.(type) {
		case xml.StartElement:
			field = map[string]*string{"Code": &code, "Message": &words}[t.Name.Local]
		case xml.CharData:
			if field != nil && *field == "" {
				*field = string(t)
			}
		case xml.EndElement:
			field = nil
		}
	}
}

// stateOfCode is how a provider behaved that answered with a status, and with a code of
// its own.
func stateOfCode(status int, code string) discover.SourceState {
	has := func(codes ...string) bool { return slices.Contains(codes, code) }
	switch {
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable,
		has("Throttling", "ThrottlingException", "RequestLimitExceeded", "RESOURCE_EXHAUSTED", "TooManyRequests", "rateLimitExceeded"):
		return discover.SourceLimited
	case has("AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "OptInRequired", "PERMISSION_DENIED", "AuthorizationFailed"):
		return discover.SourceBlocked // the key is good, and may not do this
	case status == http.StatusUnauthorized, status == http.StatusForbidden,
		has("invalid_client", "invalid_grant", "unauthorized_client", "AuthFailure", "InvalidClientTokenId", "SignatureDoesNotMatch", "ExpiredToken", "UnrecognizedClientException"):
		return discover.SourceKey
	}
	return discover.SourceFailed
}

// harvest is what an inventory has so far. A part of it that fails does not keep the others
// from being read; the first error is the one that is told.
type harvest struct {
	hosts []string
	had   map[string]bool
	err   error
}

func (h *harvest) failed(err error) {
	if h.err == nil {
		h.err = err
	}
}

// full reports whether there are as many as are taken.
func (h *harvest) full() bool { return len(h.hosts) >= cloudHosts }

func (h *harvest) add(host string) {
	if h.had == nil {
		h.had = map[string]bool{}
	}
	if host != "" && !h.had[host] && !h.full() {
		h.had[host] = true
		h.hosts = append(h.hosts, host)
	}
}

// address takes a public address; others are of no use from outside.
func (h *harvest) address(text string) {
	if a, err := netip.ParseAddr(text); err == nil && a.Unmap().IsGlobalUnicast() && !a.Unmap().IsPrivate() {
		h.add(a.Unmap().String())
	}
}

// name takes a name as zones spell it; one for anything is no host.
func (h *harvest) name(text string) {
	if text = strings.ToLower(strings.TrimSuffix(text, ".")); !strings.ContainsAny(text, `*\ /`) && len(text) < 254 {
		h.add(text)
	}
}
