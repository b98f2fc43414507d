package mcp

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/scan"
)

// ScanRequest asks for a scan.
type ScanRequest struct {
	Targets     []string `json:"targets" jsonschema:"what to test: URLs, hosts, host:port, addresses or ranges in CIDR notation. Nothing else is reached"`
	Templates   []string `json:"templates,omitempty" jsonschema:"templates by id, folder or tag; without any, the recommended set"`
	Recommended bool     `json:"recommended,omitempty" jsonschema:"also the recommended set"`
	Exclusions  []string `json:"exclusions,omitempty" jsonschema:"names, addresses and ranges that are left alone"`
	Name        string   `json:"name,omitempty" jsonschema:"what to call it; the first target when absent"`
}

// Scan is a scan and how far it is.
type Scan struct {
	ID            string         `json:"id" jsonschema:"for get_scan, stop_scan and the scan_id of read_findings"`
	Name          string         `json:"name"`
	Status        string         `json:"status" jsonschema:"queued, starting and running are on their way; finished, failed and stopped are ends"`
	FailureReason string         `json:"failure_reason,omitempty"`
	Progress      int            `json:"progress" jsonschema:"percent"`
	Targets       int            `json:"targets" jsonschema:"how many"`
	Templates     int            `json:"templates" jsonschema:"how many"`
	Findings      map[string]int `json:"findings" jsonschema:"how many there are of each severity"`
	CreatedAt     time.Time      `json:"created_at"`
	EndedAt       *time.Time     `json:"ended_at,omitempty"`
}

func scanDoc(s scan.Scan) Scan {
	return Scan{
		ID: s.ID, Name: s.Name, Status: string(s.Status), FailureReason: s.FailureReason, Progress: s.Progress(),
		Targets: s.Numbers.Targets, Templates: s.Numbers.Templates,
		Findings: rest.OrEmptyMap(s.Severities), CreatedAt: s.CreatedAt, EndedAt: rest.OrNull(s.Numbers.EndedAt),
	}
}

func (s *surface) scans() {
	find := func(ctx context.Context, in ID) (Scan, error) {
		found, err := s.Scans.Find(ctx, in.ID)
		return scanDoc(found), err
	}
	offer(s, tool{name: "run_scan", title: "Run a scan", changes: true,
		words: "Tests named targets with detection templates. It answers at once; get_scan says how far it is, read_findings with its id what it found. Test only what you are allowed to test."},
		func(ctx context.Context, in ScanRequest) (Scan, error) {
			made, err := s.Scans.Create(ctx, scan.NewScan{Name: in.Name, Config: scan.Config{
				Targets: in.Targets, Templates: in.Templates, Recommended: in.Recommended, Exclusions: in.Exclusions,
			}})
			rest.About(ctx, made.ID)
			return scanDoc(made), err
		})
	offer(s, tool{name: "get_scan", title: "See a scan",
		words: "How far a scan is, and how many findings it has of each severity."},
		find)
	offer(s, tool{name: "stop_scan", title: "Stop a scan", changes: true,
		words: "Stops a scan that waits or runs; what it found is kept."},
		func(ctx context.Context, in ID) (Scan, error) {
			rest.About(ctx, in.ID)
			if err := s.Scans.Stop(ctx, in.ID); err != nil {
				return Scan{}, err
			}
			return find(ctx, in)
		})
}
