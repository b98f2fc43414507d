package assets

import (
	"cmp"
	"fmt"
	"time"

	"github.com/vedette-sec/vedette/internal/api/platform/wire"

	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/asset/report"
)

// AssetFilters says which assets are meant.
type AssetFilters asset.Filters

// AssetDiff is what is different between two moments of an enumeration.
type AssetDiff struct {
	Message      string                    `json:"message" doc:"What this is, in words."`
	From         time.Time                 `json:"from" doc:"The earlier moment."`
	To           time.Time                 `json:"to" doc:"The later moment."`
	Assets       DiffPart[DiffPlace]       `json:"assets" doc:"Assets that came, and that are not there any more."`
	Ports        DiffPart[DiffPlace]       `json:"ports" doc:"Ports that opened and closed at hosts that are there at both moments."`
	Technologies DiffPart[DiffTechnology]  `json:"technologies" doc:"Of assets that are there at both moments."`
	Certificates DiffPart[DiffCertificate] `json:"certificates" doc:"Of assets that are there at both moments."`
}

// DiffPart is what was added and removed.
type DiffPart[T any] struct {
	AddedCount   int `json:"added_count" doc:"How many were added."`
	RemovedCount int `json:"removed_count" doc:"How many were removed."`
	Added        []T `json:"added" doc:"The first 1000 that were added, by host and port."`
	Removed      []T `json:"removed" doc:"The first 1000 that were removed, by host and port."`
}

// DiffPlace names an asset.
type DiffPlace struct {
	ID       int64  `json:"id" doc:"The asset's id."`
	Host     string `json:"host" doc:"Its host."`
	Port     int    `json:"port,omitempty" doc:"Its port."`
	Protocol string `json:"protocol,omitempty" doc:"tcp or udp."`
}

// DiffTechnology is a technology of an asset.
type DiffTechnology struct {
	DiffPlace
	Technology string `json:"technology" doc:"The technology, with its version where it is known."`
}

// DiffCertificate is a certificate of an asset.
type DiffCertificate struct {
	DiffPlace
	SerialNumber string `json:"tls_serial_number" doc:"The certificate's serial number."`
}

func diffOf(d report.Diff) AssetDiff {
	place := func(p report.Place) DiffPlace { return DiffPlace{p.ID, p.Host, p.Port, p.Protocol} }
	return AssetDiff{
		Message: "What changed.", From: d.From, To: d.To, Assets: diffPart(d.Assets, place), Ports: diffPart(d.Ports, place),
		Technologies: diffPart(d.Technologies, func(p report.Technology) DiffTechnology { return DiffTechnology{place(p.Place), p.Technology} }),
		Certificates: diffPart(d.Certificates, func(i report.Certificate) DiffCertificate { return DiffCertificate{place(i.Place), i.Serial} }),
	}
}

func diffPart[F, T any](d report.Delta[F], as func(F) T) DiffPart[T] {
	out := DiffPart[T]{d.Added.Count, d.Removed.Count, wire.Each(d.Added.First, as), wire.Each(d.Removed.First, as)}
	return out
}

// AssetMisconfiguration is something wrong with an asset.
type AssetMisconfiguration struct {
	ID            string    `json:"id" doc:"The asset's id and the type."`
	EnumerationID string    `json:"enumeration_id" doc:"The enumeration that saw it."`
	FindingType   string    `json:"finding_type" enum:"dangling_dns,origin_exposure" doc:"What is wrong."`
	Host          string    `json:"host" doc:"Where."`
	Severity      string    `json:"severity" enum:"critical,high,medium,low,info,unknown" doc:"How bad it is."`
	Status        string    `json:"status" enum:"open" doc:"open: what is not there any more is not listed."`
	Event         any       `json:"event" doc:"What was seen: host, ip, cname and detail."`
	CreatedAt     time.Time `json:"created_at" doc:"When the asset was seen first."`
	UpdatedAt     time.Time `json:"updated_at" doc:"When the asset became as it is."`
}

func misconfigurationOf(m report.Misconfiguration) AssetMisconfiguration {
	a := m.Asset
	return AssetMisconfiguration{
		ID: fmt.Sprintf("%d-%s", a.ID, m.Type), EnumerationID: a.EnumerationID, FindingType: m.Type, Host: a.Host,
		Severity: cmp.Or(map[string]string{"dangling_dns": "high", "origin_exposure": "medium"}[m.Type], "unknown"), Status: "open",
		Event:     map[string]any{"host": a.Host, "ip": wire.OrEmpty(a.IP), "cname": wire.OrEmpty(a.CNAME), "detail": m.Detail},
		CreatedAt: a.CreatedAt, UpdatedAt: a.UpdatedAt,
	}
}
