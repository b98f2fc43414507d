package notification

import (
	"fmt"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/notify/alert"
)

// Subject is the scan or the enumeration that an alert is about.
type Subject struct {
	Kind Kind // OfScan or OfEnumeration
	ID   string
	Name string
}

func (s Subject) alert(kind alert.Kind, message string) alert.Alert {
	if s.Kind == OfScan {
		return alert.Alert{Kind: kind, Message: message, ScanID: s.ID, ScanName: s.Name}
	}
	return alert.Alert{Kind: kind, Message: message, EnumerationID: s.ID, EnumerationName: s.Name}
}

// String is the subject at the beginning of a sentence.
func (s Subject) String() string {
	if s.Kind == OfScan {
		return fmt.Sprintf("Scan %q", s.Name)
	}
	return fmt.Sprintf("Enumeration %q", s.Name)
}

// Running is the alert of a run that has started.
func (s Subject) Running(start alert.Start) []alert.Alert {
	a := s.alert(alert.Running, s.String()+" has started.")
	a.Running = &start
	return []alert.Alert{a}
}

// Failed is the alert of a run that failed after done of total parts, or was stopped.
func (s Subject) Failed(at time.Time, done, total int, reason string, stopped bool) []alert.Alert {
	a := s.alert(alert.Failed, s.String()+" has failed.")
	if stopped {
		a.Message, reason = s.String()+" was stopped.", "It was stopped."
	}
	a.Failed = &alert.Breakdown{Timestamp: at, Reason: reason}
	if total > 0 {
		a.Failed.Progress = done * 100 / total
	}
	return []alert.Alert{a}
}

// MaxListed bounds the new findings or assets in an alert.
const MaxListed = 15

// ScanFinished are the alerts of a scan's end. fresh are the new findings of a rescan, the worst first.
func (s Subject) ScanFinished(end alert.End, fresh []alert.Vuln) []alert.Alert {
	for _, n := range end.Severities {
		end.TotalMatches += n
	}
	for _, v := range fresh {
		end.NewVulns += v.Count
	}
	a := s.alert(alert.Finished, fmt.Sprintf("%s has finished with %d findings.", s, end.TotalMatches))
	a.Finished = &end
	if end.NewVulns == 0 {
		return []alert.Alert{a}
	}
	end.NewVulnsList = fresh[:min(len(fresh), MaxListed)]
	found := a
	found.Kind, found.Message = alert.NewVuln,
		fmt.Sprintf("A rescan of %q has found %d new vulnerabilities.", s.Name, end.NewVulns)
	return []alert.Alert{a, found}
}

// EnumerationFinished are the alerts of an enumeration's end. drops are sources that found far less than they used to.
func (s Subject) EnumerationFinished(end alert.End, drops []string) []alert.Alert {
	a := s.alert(alert.Finished, fmt.Sprintf("%s has finished with %d assets, %d of them new.", s, end.TotalAssets,
		end.NewAssets))
	a.Finished = &end
	alerts := []alert.Alert{a}
	if end.NewAssets > 0 {
		a.Kind, a.Message = alert.NewAsset, fmt.Sprintf("%s has found %d new assets.", s, end.NewAssets)
		alerts = append(alerts, a)
	}
	if len(drops) > 0 {
		message := fmt.Sprintf("Sources of enumeration %q found far less than they used to. %s", s.Name,
			strings.Join(drops, " "))
		alerts = append(alerts, s.alert(alert.SourceDrop, message))
	}
	return alerts
}
