package errs

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestEveryKindHasItsOwnStatus(t *testing.T) {
	seen := map[int]Kind{}
	for _, kind := range []Kind{
		Internal, Invalid, Unauthenticated, Forbidden, NotFound, MethodNotAllowed, Conflict, TooLarge, Unsupported,
		NotAcceptable, RateLimited, Unavailable, Timeout,
	} {
		status := kind.Status()
		if other, taken := seen[status]; taken || http.StatusText(status) == "" || status < 400 {
			t.Errorf("%s has status %d, as has %q", kind, status, other)
		}
		seen[status] = kind
		if back := KindOfStatus(status); back != kind {
			t.Errorf("%d is %s, want %s", status, back, kind)
		}
	}
}

func TestUnknownKindsAndStatuses(t *testing.T) {
	if got := Kind("made up").Status(); got != http.StatusInternalServerError {
		t.Errorf("an unknown kind has status %d", got)
	}
	for status, want := range map[int]Kind{422: Invalid, 418: Invalid, 499: Invalid, 502: Internal, 200: Internal,
		0: Internal, -1: Internal} {
		if got := KindOfStatus(status); got != want {
			t.Errorf("%d is %s, want %s", status, got, want)
		}
	}
}

func TestFromFindsTheErrorInTheChain(t *testing.T) {
	if From(nil) != nil {
		t.Error("From(nil) is an error")
	}
	refused := New(Forbidden, "no", "No %d.", 1)
	if got := From(fmt.Errorf("while: %w", refused)); got != refused {
		t.Errorf("found %+v", got)
	}
	cause := errors.New("secret")
	got := From(cause)
	if got.Kind != Internal || got.Code != "internal_error" || strings.Contains(got.Message, "secret") ||
		!errors.Is(got, cause) {
		t.Errorf("a foreign error becomes %+v", got)
	}
}

func TestIs(t *testing.T) {
	err := fmt.Errorf("while: %w", Missing("task"))
	if !Is(err, NotFound) || Is(err, Invalid) || Is(errors.New("x"), Internal) || Is(nil, Internal) {
		t.Error("Is does not tell the kinds apart")
	}
}

func TestCopiesLeaveTheOriginal(t *testing.T) {
	base := New(Invalid, "bad", "Bad.")
	cause := errors.New("why")
	changed := base.Because(cause).With("a", "1").With("b", "2").With("a", "3").At("field").At("other")
	if base.Param != "" || base.Extra != nil || base.Unwrap() != nil {
		t.Errorf("the original is now %+v", base)
	}
	if changed.Param != "field" || changed.Extra["a"] != "3" || changed.Extra["b"] != "2" || !errors.Is(changed, cause) ||
		changed.Code != "bad" {
		t.Errorf("the copy is %+v", changed)
	}
	one := base.With("a", "1")
	one.With("b", "2")
	if len(one.Extra) != 1 {
		t.Errorf("a copy of a copy changed it: %v", one.Extra)
	}
	if got := changed.Error(); got != "Bad.: why" {
		t.Errorf("in words: %q", got)
	}
	if got := base.Error(); got != "Bad." {
		t.Errorf("in words: %q", got)
	}
}

func TestMissingSaysOnlyWhat(t *testing.T) {
	if e := Missing("task"); e.Code != "task_not_found" || e.Kind != NotFound || e.Message != "There is no such task." {
		t.Errorf("%+v", e)
	}
}

func TestFieldMakesACodeWord(t *testing.T) {
	for param, want := range map[string]string{
		"task": "invalid_task", "X-Team-Id": "invalid_x_team_id", "message.parts[0].type": "invalid_message_parts_0_type",
		"": "invalid_request", "…": "invalid_request", "--a--b": "invalid_a_b",
	} {
		if e := Field(param, "Bad."); e.Code != want || e.Param != param || e.Kind != Invalid {
			t.Errorf("%q: %+v, want code %s", param, e, want)
		}
	}
	shape := regexp.MustCompile(`^invalid_[a-z0-9][a-z0-9_]{0,47}$`)
	rapid.Check(t, func(t *rapid.T) {
		param := rapid.String().Draw(t, "param")
		if e := Field(param, "Bad."); !shape.MatchString(e.Code) || strings.Contains(e.Code, "__") {
			t.Fatalf("%q has code %q", param, e.Code)
		}
	})
}
