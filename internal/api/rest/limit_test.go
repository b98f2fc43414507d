package rest

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
)

func TestRateLimitSaysWhenToComeBack(t *testing.T) {
	s := open(t, Config{Rate: 0.5, Burst: 2}, registerPost)
	var statuses []int
	for range 4 {
		resp, e, _ := s.do(t, "POST", "/things", nil)
		statuses = append(statuses, resp.StatusCode)
		if resp.StatusCode != http.StatusTooManyRequests {
			continue
		}
		if after, err := strconv.Atoi(resp.Header.Get("Retry-After")); err != nil || after < 1 || after > 2 ||
			e.Code != "rate_limited" {
			t.Errorf("Retry-After %q, %+v", resp.Header.Get("Retry-After"), e)
		}
	}
	if fmt.Sprint(statuses) != "[400 400 429 429]" {
		t.Errorf("the answers are %v", statuses)
	}
}
