// Package region asks the deployments of other regions whether they know a user.
package region

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// LookupPath is where a deployment answers another region about its own users.
const LookupPath = "/api/internal/user/lookup"

// KeyHeader carries the service key of the internal endpoints.
const KeyHeader = "X-Internal-API-Key"

// Service is another region's deployment.
type Service struct {
	Name string
	URL  string // its base
	Key  string // its service key; ours when empty
}

// Result is the specification's MasterLookupResult.
type Result struct {
	Exists     bool    `json:"exists"`
	UserRegion *string `json:"user_region"`
	Team       *Team   `json:"team"`
}

// Team is the specification's MasterTeam.
type Team struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	OwnerEmail string   `json:"owner_email"`
	UserRole   string   `json:"user_role"`
	Members    []Member `json:"members"`
}

// Member is the specification's MasterMember.
type Member struct {
	Email string `json:"email"`
	Role  string `json:"role"`
}

// Ask asks all services at once. It fails with Unavailable when none knows the user and one did not answer.
func Ask(ctx context.Context, client *http.Client, services []Service, key, email string) (Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make([]Result, len(services))
	failures := make([]error, len(services))
	var group sync.WaitGroup
	for i, service := range services {
		group.Go(func() {
			answers[i], failures[i] = ask(ctx, client, service, key, email)
			if answers[i].Exists {
				cancel() // the other answers are not needed
			}
		})
	}
	group.Wait()
	for _, answer := range answers {
		if answer.Exists {
			return answer, nil
		}
	}
	for i, service := range services {
		if err := failures[i]; err != nil {
			return Result{}, errs.New(errs.Unavailable, "region_service_unavailable",
				"The service of region %s does not answer.", service.Name).Because(err)
		}
	}
	return Result{}, nil
}

const maxAnswer = 1 << 20 // bytes

func ask(ctx context.Context, client *http.Client, s Service, key, email string) (Result, error) {
	var result Result
	body, err := json.Marshal(map[string]string{"email": email})
	if err != nil {
		return result, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(s.URL, "/")+LookupPath,
		bytes.NewReader(body))
	if err != nil {
		return result, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(KeyHeader, cmp.Or(s.Key, key))
	resp, err := client.Do(req)
	if err != nil {
		return result, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return result, fmt.Errorf("region %s answered %d", s.Name, resp.StatusCode)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&result); err != nil {
		return Result{}, fmt.Errorf("region %s: %w", s.Name, err)
	}
	if result.Exists && result.UserRegion == nil {
		result.UserRegion = &s.Name
	}
	return result, nil
}
