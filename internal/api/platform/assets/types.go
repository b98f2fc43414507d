package assets

import (
	"cmp"
	"fmt"
	"time"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/asset/report"
)

// AssetFilters select assets.
type AssetFilters asset.Filters

// AssetDiff is what is different between two moments of an enumeration.
type AssetDiff struct {
	Message      string                    `json:"message"`
	From         time.Time                 `json:"from" doc:"First time."`
	To           time.Time                 `json:"to" doc:"Second time."`
	Assets       DiffPart[DiffPlace]       `json:"assets" doc:"Assets."`
	Ports        DiffPart[DiffPlace]       `json:"ports" doc:"Ports of hosts that exist at both times."`
	Technologies DiffPart[DiffTechnology]  `json:"technologies" doc:"Of assets that exist at both times."`
	Certificates DiffPart[DiffCertificate] `json:"certificates" doc:"Of assets that exist at both times."`
}

// DiffPart is what was added and removed.
type DiffPart[T any] struct {
	AddedCount   int `json:"added_count" doc:"Number added."`
	RemovedCount int `json:"removed_count" doc:"Number removed."`
	Added        []T `json:"added" doc:"At most 1000, by host and port."`
	Removed      []T `json:"removed" doc:"At most 1000, by host and port."`
}

// DiffPlace names an asset.
type DiffPlace struct {
	ID       int64  `json:"id"`
	Host     string `json:"host"`
	Port     int    `json:"port,omitempty"`
	Protocol string `json:"protocol,omitempty" doc:"tcp or udp."`
}

// DiffTechnology is a technology of an asset.
type DiffTechnology struct {
	DiffPlace
	Technology string `json:"technology" doc:"Technology, with its version if known."`
}

// DiffCertificate is a certificate of an asset.
type DiffCertificate struct {
	DiffPlace
	SerialNumber string `json:"tls_serial_number" doc:"The certificate's serial number."`
}

func diffOf(d report.Diff) AssetDiff {
	place := func(p report.AssetRef) DiffPlace { return DiffPlace{p.ID, p.Host, p.Port, p.Protocol} }
	return AssetDiff{
		Message: "What changed.", From: d.From, To: d.To, Assets: diffPart(d.Assets, place), Ports: diffPart(d.Ports, place),
		Technologies: diffPart(d.Technologies,
			func(p report.Technology) DiffTechnology { return DiffTechnology{place(p.AssetRef), p.Technology} }),
		Certificates: diffPart(d.Certificates,
			func(i report.Certificate) DiffCertificate { return DiffCertificate{place(i.AssetRef), i.Serial} }),
	}
}

func diffPart[F, T any](d report.Delta[F], as func(F) T) DiffPart[T] {
	return DiffPart[T]{d.Added.Count, d.Removed.Count, rest.Each(d.Added.First, as), rest.Each(d.Removed.First, as)}
}

// AssetMisconfiguration is a misconfiguration of an asset.
type AssetMisconfiguration struct {
	ID            string    `json:"id" doc:"Asset id and type."`
	EnumerationID string    `json:"enumeration_id"`
	FindingType   string    `json:"finding_type" enum:"dangling_dns,origin_exposure" doc:"Type."`
	Host          string    `json:"host"`
	Severity      string    `json:"severity" enum:"critical,high,medium,low,info,unknown"`
	Status        string    `json:"status" enum:"open" doc:"Always open."`
	Event         any       `json:"event" doc:"host, ip, cname and detail."`
	CreatedAt     time.Time `json:"created_at" doc:"First seen."`
	UpdatedAt     time.Time `json:"updated_at"`
}

func misconfigurationOf(m report.Misconfiguration) AssetMisconfiguration {
	a := m.Asset
	return AssetMisconfiguration{
		ID: fmt.Sprintf("%d-%s", a.ID, m.Type), EnumerationID: a.EnumerationID, FindingType: m.Type, Host: a.Host,
		Severity: cmp.Or(map[string]string{"dangling_dns": "high", "origin_exposure": "medium"}[m.Type], "unknown"),
		Status:   "open",
		Event: map[string]any{"host": a.Host, "ip": rest.OrEmpty(a.IP), "cname": rest.OrEmpty(a.CNAME),
			"detail": m.Detail},
		CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt,
	}
}
