package rest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// testError is the error shape of the surface that these tests speak to.
type testError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Param   string `json:"param"`
	ID      string `json:"error_id"`
}

// surface is a test surface, its address, and what it logged.
type surface struct {
	*API
	url  string
	logs *syncBuffer
}

func open(t *testing.T, c Config, register func(*API)) surface {
	t.Helper()
	logs := &syncBuffer{}
	c.Logger = slog.New(slog.NewJSONHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	api := New(Surface{
		Name: "test", Title: "Test", Version: "1", ErrorType: testError{},
		Shape: func(_ int, e *errs.Error, id string) any { return testError{e.Code, e.Message, e.Param, id} },
	}, c)
	register(api)
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	return surface{api, server.URL, logs}
}

type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func get(path string) Op {
	return Op{Operation: huma.Operation{OperationID: "op" + strings.ReplaceAll(path, "/", "-"), Method: http.MethodGet,
		Path: path}, Auth: None}
}

func (s surface) do(
	t *testing.T, method, path string, body io.Reader, header ...string,
) (*http.Response, testError, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var e testError
	_ = json.Unmarshal(text, &e) // an answer that is no error has none
	return resp, e, string(text)
}

func TestPanicIsAnInternalErrorInShape(t *testing.T) {
	s := open(t, Config{}, func(a *API) {
		Register(a, get("/panic"), func(context.Context, *struct{}) (*struct{}, error) { panic("the secret of the panic") })
	})
	resp, e, text := s.do(t, "GET", "/panic", nil)
	if resp.StatusCode != 500 || e.Code != "internal_error" || resp.Header.Get("Content-Type") != "application/json" ||
		strings.Contains(text, "secret") {
		t.Errorf("a panic answers %d %s", resp.StatusCode, text)
	}
	if e.ID != resp.Header.Get(RequestIDHeader) || !ids.IsUUID(e.ID) {
		t.Errorf("error_id %q, header %q", e.ID, resp.Header.Get(RequestIDHeader))
	}
	logs := s.logs.String()
	if !strings.Contains(logs, "the secret of the panic") || strings.Count(logs, e.ID) != 2 ||
		!strings.Contains(logs, "rest_test.go") {
		t.Errorf("the log does not tell the panic, its stack and its request: %s", logs)
	}
}

func TestPanicInAnAnswerBreaksIt(t *testing.T) {
	s := open(t, Config{}, func(a *API) {
		Register(a, get("/half"), func(context.Context, *struct{}) (*huma.StreamResponse, error) {
			return &huma.StreamResponse{Body: func(ctx huma.Context) {
				_, _ = ctx.BodyWriter().Write([]byte(`{"half":`))
				panic("in the middle")
			}}, nil
		})
	})
	resp, err := http.Get(s.url + "/half")
	if err == nil { // the headers may have left
		defer resp.Body.Close()
		var text []byte
		if text, err = io.ReadAll(resp.Body); err == nil {
			t.Errorf("half an answer looks like a whole one: %q", text)
		}
	}
	if !strings.Contains(s.logs.String(), "in the middle") {
		t.Error("the panic is not in the log")
	}
}

func TestCausesStayInTheLog(t *testing.T) {
	s := open(t, Config{}, func(a *API) {
		Register(a, get("/plain"), func(context.Context, *struct{}) (*struct{}, error) {
			return nil, fmt.Errorf("dial postgres://vedette:hunter2@db: %w", errors.New("refused"))
		})
		Register(a, get("/caused"), func(context.Context, *struct{}) (*struct{}, error) {
			return nil, errs.New(errs.Unavailable, "down", "It is down.").Because(errors.New("hunter2"))
		})
	})
	for path, want := range map[string]int{"/plain": 500, "/caused": 503} {
		resp, e, text := s.do(t, "GET", path, nil)
		if resp.StatusCode != want || strings.Contains(text, "hunter2") || strings.Contains(text, "postgres") {
			t.Errorf("%s answers %d %s", path, resp.StatusCode, text)
		}
		if line := s.line(e.ID); !strings.Contains(line, "hunter2") || !strings.Contains(line, `"ERROR"`) {
			t.Errorf("%s: the log's line is %s", path, line)
		}
	}
}

// line is the log's line for a request.
func (s surface) line(id string) string {
	for line := range strings.Lines(s.logs.String()) {
		if strings.Contains(line, id) && strings.Contains(line, `"msg":"request"`) {
			return line
		}
	}
	return ""
}

func TestLogHoldsNoSecrets(t *testing.T) {
	s := open(t, Config{}, func(a *API) {
		Register(a, get("/things/{id}"), func(context.Context, *struct {
			ID   string `path:"id"`
			Word string `query:"word"`
		}) (*struct{}, error) {
			return nil, nil
		})
	})
	resp, _, _ := s.do(t, "GET", "/things/1?word=secret-query", nil,
		"Authorization", "Bearer secret-token", "X-Api-Key", "secret-key", "X-Internal-API-Key", "secret-service", "Cookie",
		"secret-cookie=1", "X-Request-Id", "secret-id")
	id := resp.Header.Get(RequestIDHeader)
	if strings.Contains(s.logs.String(), "secret") || id == "secret-id" {
		t.Errorf("the log tells too much: %s", s.logs.String())
	}
	for _, want := range []string{id, `"/things/1"`, `"op-things-{id}"`, `"GET"`, `"status":204`, `"surface":"test"`, `"client":"127.0.0.1"`} {
		if !strings.Contains(s.line(id), want) {
			t.Errorf("the log's line lacks %s: %s", want, s.line(id))
		}
	}
}

func TestMetricsCountByOperationAndStatus(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := open(t, Config{Metrics: NewMetrics(registry)}, func(a *API) {
		Register(a, get("/things/{id}"), func(context.Context, *struct {
			ID int `path:"id"`
		}) (*struct{}, error) {
			return nil, nil
		})
	})
	for _, path := range []string{"/things/1", "/things/2", "/things/x", "/nowhere/1", "/nowhere/2"} {
		s.do(t, "GET", path, nil)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() != "vedette_http_requests_total" {
				continue
			}
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetValue())
			}
			got[strings.Join(labels, " ")] = metric.GetCounter().GetValue()
		}
	}
	// The path is no label: strangers could make up any number of them.
	want := map[string]float64{"op-things-{id} 204 test": 2, "op-things-{id} 400 test": 1, "none 404 test": 2}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("counted %v, want %v", got, want)
	}
}

func TestMethods(t *testing.T) {
	s := open(t, Config{}, func(a *API) {
		for _, method := range []string{http.MethodGet, http.MethodPatch} {
			op := get("/thing")
			op.Method, op.OperationID = method, method
			Register(a, op, func(context.Context, *struct{}) (*struct{}, error) { return nil, nil })
		}
	})
	for _, method := range []string{"PUT", "POST", "DELETE", "HEAD", "OPTIONS", "TRACE", "BREW"} {
		resp, e, text := s.do(t, method, "/thing", nil)
		if resp.StatusCode != 405 || resp.Header.Get("Allow") != "GET, PATCH" {
			t.Errorf("%s answers %d, Allow %q: %s", method, resp.StatusCode, resp.Header.Get("Allow"), text)
		}
		if method != "HEAD" && (e.Code != "method_not_allowed" || e.ID != resp.Header.Get(RequestIDHeader)) {
			t.Errorf("%s is refused with %s", method, text)
		}
	}
	for _, path := range []string{"/thing/", "//thing", "/thing/..", "/./thing", "/THING", "/%74hing/x", "/thing%2f",
		"/thing%00", "/thing;a=b"} {
		if resp, e, text := s.do(t, "GET", path, nil); resp.StatusCode != 404 || e.Code != "endpoint_not_found" {
			t.Errorf("%s answers %d %s", path, resp.StatusCode, text)
		}
	}
	resp, _, _ := s.do(t, "GET", "/thing", nil, "X-HTTP-Method-Override", "PUT", "X-Method-Override", "PUT")
	if resp.StatusCode != 204 {
		t.Errorf("a method override is heard: %d", resp.StatusCode)
	}
}

func registerPost(a *API) {
	op := get("/things")
	op.Method = http.MethodPost
	Register(a, op, func(_ context.Context, in *struct {
		Body struct {
			Word string `json:"word" maxLength:"5"`
			N    int    `json:"n,omitempty" minimum:"1"`
		}
	}) (*struct{}, error) {
		return nil, nil
	})
}

func TestSlowBodyIsNotWaitedFor(t *testing.T) {
	s := open(t, Config{}, func(a *API) {
		registerPost(a)
		Register(a, get("/bare"), func(context.Context, *struct{}) (*struct{}, error) { return nil, nil })
	})
	server := httptest.NewServer(BoundBody(50*time.Millisecond, s))
	defer server.Close()
	s.url = server.URL
	for _, line := range []string{"POST /things", "GET /bare", "POST /nowhere", "PUT /things"} {
		for _, length := range []string{"Content-Length: 1000", "Transfer-Encoding: chunked"} {
			began := time.Now()
			resp, body, conn := s.wire(t, line+" HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+length+
				"\r\n\r\n5\r\n{\"wor")
			if line == "POST /things" && (resp.StatusCode != 400 || !strings.Contains(body, "unreadable_body")) {
				t.Errorf("%s, %s: a slow body answers %d %s", line, length, resp.StatusCode, body)
			}
			if _, err := conn.ReadByte(); err == nil || time.Since(began) > 30*time.Second {
				t.Errorf("%s, %s: the connection is held: %v after %v", line, length, err, time.Since(began))
			}
		}
	}
}

// TestRefusedBodyIsTakenIn: a client that reads the answer only when it has sent all
// gets one, whoever refused and however the body comes.
func TestRefusedBodyIsTakenIn(t *testing.T) {
	s := open(t, Config{MaxBody: 2000}, registerPost)
	server := httptest.NewServer(BoundBody(time.Minute, s))
	defer server.Close()
	const size = 10 << 20
	for line, want := range map[string]int{"POST /things": 413, "POST /nowhere": 404, "PUT /things": 405} {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", line,
			size)
		if _, err := io.CopyN(conn, endless{}, size); err != nil {
			t.Fatalf("%s: the body is not taken in: %v", line, err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", line, resp.StatusCode, want)
		}
	}
}

// endless is spaces without end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// TestStreamOutlivesTheBodysDeadline: what bounds the body does not end a long answer.
func TestStreamOutlivesTheBodysDeadline(t *testing.T) {
	t.Parallel()
	const bound = time.Second
	s := open(t, Config{}, func(a *API) {
		op := get("/long")
		op.Method = http.MethodPost
		Register(a, op, func(ctx context.Context, _ *struct{ Body struct{} }) (*huma.StreamResponse, error) {
			return &huma.StreamResponse{Body: func(out huma.Context) {
				select {
				case <-ctx.Done():
				case <-time.After(bound * 3 / 2):
					_, _ = out.BodyWriter().Write([]byte("all"))
				}
			}}, nil
		})
	})
	server := httptest.NewServer(BoundBody(bound, s))
	defer server.Close()
	s.url = server.URL
	if _, _, text := s.do(t, "POST", "/long", strings.NewReader("{}")); text != "all" {
		t.Errorf("the answer is %q", text)
	}
}

// TestBodyIsBoundNotTheWork: what bounds how a body is sent does not end the work with it,
// while it is read or afterwards.
func TestBodyIsBoundNotTheWork(t *testing.T) {
	t.Parallel()
	const bound = time.Second
	work := func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(bound * 3 / 2):
			return nil
		}
	}
	ended := make(chan error, 1)
	server := httptest.NewServer(BoundBody(bound, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stream := newStream(r.Body, http.NewResponseController(w), bound)
		_, err := io.CopyN(io.Discard, &stream, 1)
		if err == nil {
			err = work(r.Context())
		}
		if err == nil {
			_, err = io.Copy(io.Discard, &stream)
		}
		if err == nil {
			err = work(r.Context())
		}
		ended <- err
	})))
	defer server.Close()
	post := func(body io.Reader) error {
		resp, err := http.Post(server.URL, "text/plain", body)
		if err == nil {
			resp.Body.Close()
		}
		return <-ended
	}
	if err := post(io.LimitReader(endless{}, 5<<20)); err != nil {
		t.Errorf("a body that came at once: %v", err)
	}
	silent, sender := io.Pipe()
	defer sender.Close()
	go func() { _, _ = sender.Write([]byte("begun")) }()
	if err := post(silent); !errs.Is(err, errs.Invalid) {
		t.Errorf("a sender that pauses: %v", err)
	}
}

func TestChunkedBodyBeyondTheLimit(t *testing.T) {
	s := open(t, Config{MaxBody: 2000}, registerPost)
	server := httptest.NewServer(BoundBody(time.Second, s))
	defer server.Close()
	s.url = server.URL
	resp, body, _ := s.wire(t, "POST /things HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"+
		strings.Repeat("400\r\n"+strings.Repeat(" ", 1024)+"\r\n", 8))
	if resp.StatusCode != 413 || !strings.Contains(body, "body_too_large") {
		t.Errorf("answers %d %s", resp.StatusCode, body)
	}
	exact := `{"word":"x"}` + strings.Repeat(" ", 2000-len(`{"word":"x"}`))
	if resp, _, text := s.do(t, "POST", "/things", strings.NewReader(exact)); resp.StatusCode != 204 {
		t.Errorf("a body of just the limit answers %d %s", resp.StatusCode, text)
	}
	if resp, _, text := s.do(t, "POST", "/things", strings.NewReader(exact+" ")); resp.StatusCode != 413 {
		t.Errorf("a body of one byte more answers %d %s", resp.StatusCode, text)
	}
}

// wire sends bytes as they are and reads one answer; the connection stays open.
func (s surface) wire(t *testing.T, request string) (*http.Response, string, *bufio.Reader) {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte(request)); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body), r
}

func TestRefusalNamesEveryFieldAtFault(t *testing.T) {
	s := open(t, Config{}, registerPost)
	resp, e, _ := s.do(t, "POST", "/things", strings.NewReader(`{"word": "too long", "n": 0}`))
	if resp.StatusCode != 400 || e.Code != "invalid_request" || e.Param == "" || !strings.Contains(e.Message, "word") ||
		!strings.Contains(e.Message, "n:") {
		t.Errorf("answers %d %+v", resp.StatusCode, e)
	}
}

func TestRefusalNamesTheFieldThatIsMissing(t *testing.T) {
	missing := &huma.ErrorDetail{Message: fmt.Sprintf(validation.MsgExpectedRequiredProperty, "word"),
		Location: "body.things[0]"}
	if e := fromHuma(422, "", []error{missing}); e.Param != "things[0].word" ||
		e.Message != "things[0].word: it is required" {
		t.Errorf("%+v", e)
	}
	missing.Location = "body"
	if e := fromHuma(422, "", []error{missing}); e.Param != "word" {
		t.Errorf("%+v", e)
	}
}

// Every operation says that the server's surroundings may fail, and when to try again; what writes, that there may be no
// room.
func TestOutagesAreInTheContract(t *testing.T) {
	var document *huma.OpenAPI
	open(t, Config{}, func(a *API) {
		nothing := func(context.Context, *struct{}) (*struct{}, error) { return &struct{}{}, nil }
		Register(a, get("/read"), nothing)
		write := get("/write")
		write.Method, write.OperationID = http.MethodPost, "write"
		Register(a, write, nothing)
		document = a.Huma.OpenAPI()
	})
	read, write := document.Paths["/read"].Get.Responses, document.Paths["/write"].Post.Responses
	for _, answer := range []*huma.Response{read["503"], write["503"], write["507"]} {
		if answer == nil || answer.Headers["Retry-After"] == nil {
			t.Errorf("%+v", answer)
		}
	}
	if read["507"] != nil {
		t.Error("a read needs no room")
	}
}
