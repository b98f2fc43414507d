package app

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
)

// flood is many clients who post wrong passwords and setup tokens from one network.
type flood struct {
	h       *testServer
	client  *http.Client
	refused atomic.Int64 // answers 429
}

func (f *flood) post(t *testing.T, path, contentType, body, from string) int {
	r := f.h.request(http.MethodPost, path, nil, body)
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("X-Forwarded-For", from)
	resp, err := f.client.Do(r)
	if err != nil {
		t.Error(err)
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

func (f *flood) login(t *testing.T, name, password, from string) int {
	return f.post(t, "/api/v1/auth/login", "application/json",
		fmt.Sprintf(`{"email": "%s@example.com", "password": %q}`, name, password), from)
}

// logins is how long a login with the right password takes: the middle of five, each from its own address.
func (f *flood) logins(t *testing.T, network string) time.Duration {
	var took []time.Duration
	for i := range 5 {
		began := time.Now()
		if status := f.login(t, []string{"ada", "bob"}[i%2], "correct-horse", fmt.Sprintf("%s.%d", network, i)); status != 200 {
			t.Errorf("a right password: %d", status)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[2]
}

// TestFloodsDelayNobodyElse: 300 posters of wrong passwords and setup tokens from one network do not keep a right
// password from another one waiting, for the account that they try or another.
func TestFloodsDelayNobodyElse(t *testing.T) {
	const posters = 300
	h := serve(t, "sqlite", "TRUSTED_PROXIES=127.0.0.0/8", "LOG_LEVEL=error")
	for _, name := range []string{"ada", "bob"} {
		if _, err := h.Accounts.CreateUser(t.Context(),
			account.NewUser{Email: name + "@example.com", Password: "correct-horse"}); err != nil {
			t.Fatal(err)
		}
	}
	f := &flood{h: h, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: posters + 1}}}
	t.Cleanup(f.client.CloseIdleConnections)
	calm := f.logins(t, "192.0.2")

	stop, busy := make(chan struct{}), make(chan struct{})
	var group sync.WaitGroup
	for i := range posters {
		group.Go(func() {
			for {
				var status int
				if i%3 == 0 {
					status = f.post(t, "/setup", "application/x-www-form-urlencoded",
						"token=wrong&email=eve@example.com&password=wrong-password", "2001:db8::9")
				} else {
					status = f.login(t, "ada", "wrong-password", fmt.Sprintf("2001:db8::%x", i))
				}
				if status == http.StatusTooManyRequests && f.refused.Add(1) == posters {
					close(busy)
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	<-busy
	flooded := f.logins(t, "198.51.100")
	close(stop)
	group.Wait()
	t.Logf("a login takes %v, and %v in a flood", calm, flooded)
	if flooded > max(time.Second, 40*calm) {
		t.Errorf("a login takes %v, and %v in a flood", calm, flooded)
	}
}
