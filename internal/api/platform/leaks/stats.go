package leaks

import (
	"context"
	"strings"

	"github.com/vedette-sec/vedette/internal/api/rest"
	"github.com/vedette-sec/vedette/internal/core/leak"
)

// LeakStats are counts of leaks (reference, leak stats). Lists of counts have one item.
type LeakStats struct {
	Devices           []DevicesCount    `json:"leak_devices_count" doc:"How many different devices they were taken from."`
	Customers         []CustomersCount  `json:"leak_customers_count" doc:"Logins of others to sites of the domain."`
	Users             []UsersCount      `json:"leak_user_count" doc:"Of your own address."`
	Employees         []EmployeesCount  `json:"leak_employees_count" doc:"Logins with an address of the domain."`
	Combolist         []CombolistCount  `json:"combolist_exposure" doc:"In lists of logins that say nothing of where they were used."`
	Countries         []LeakCountry     `json:"leak_country_stats" doc:"By country, the most first."`
	CustomerURLs      []UsedURL         `json:"top_used_urls_by_customers" doc:"The hosts that occur most often."`
	EmployeeURLs      []UsedURL         `json:"top_used_urls_by_employees" doc:"The hosts that occur most often."`
	UserURLs          []UsedURL         `json:"top_used_urls_by_user" doc:"The hosts that occur most often."`
	CustomerTimeline  []LeaksOfMonth    `json:"leak_customers_timeline" doc:"By the month in which they were taken, the first one first."`
	UserTimeline      []LeaksOfMonth    `json:"leak_user_timeline" doc:"By the month in which they were taken, the first one first."`
	EmployeesTimeline []LeaksOfMonth    `json:"leak_employees_timeline" doc:"By the month in which they were taken, the first one first."`
	CustomerSample    []LeaksUserSample `json:"customers_sample_data" doc:"The latest."`
	EmployeeSample    []LeaksUserSample `json:"employees_sample_data" doc:"The latest."`
	UserSample        []LeaksUserSample `json:"user_sample_data" doc:"The latest."`
}

// DevicesCount counts devices.
type DevicesCount struct {
	Devices int `json:"devices" doc:"Devices."`
}

// CustomersCount counts leaks of customers.
type CustomersCount struct {
	Customers int `json:"customers" doc:"Leaks of customers."`
}

// UsersCount counts leaks of the caller.
type UsersCount struct {
	User int `json:"user" doc:"Leaks of your own address."`
}

// EmployeesCount counts leaks of employees.
type EmployeesCount struct {
	Employees int `json:"employees" doc:"Leaks of employees."`
}

// CombolistCount counts leaks of lists of logins without URLs.
type CombolistCount struct {
	Combolist int `json:"combolist_exposure" doc:"In lists of logins that say nothing of where they were used."`
}

// LeakCountry counts the leaks of a country.
type LeakCountry struct {
	Country string `json:"Country" doc:"The country, as the list writes it."`
	Count   int    `json:"CredentialsCount" doc:"Leaks."`
}

// UsedURL counts the leaks at a host.
type UsedURL struct {
	Count int    `json:"count"`
	URL   string `json:"url"`
}

// LeaksOfMonth counts the leaks that were taken in a month.
type LeaksOfMonth struct {
	Count int `json:"CredentialsCount" doc:"Leaks."`
	Month int `json:"Month" doc:"1 to 12."`
	Year  int `json:"Year" doc:"The year."`
}

// LeaksUserSample is one of the latest leaks, without its password.
type LeaksUserSample struct {
	Password string `json:"password" doc:"Never shown here."`
	Username string `json:"username" doc:"An address is shown in part, unless unmask_email is true."`
	URL      string `json:"url"`
	Country  string `json:"country" doc:"The country, as the list writes it."`
	LogDate  string `json:"log_date" doc:"When it was taken; empty: the list does not say."`
}

func (s area) stats(ctx context.Context, domain, email string, unmasked bool) (*LeakStats, error) {
	found, err := s.leaks.Stats(ctx, domain, email)
	if found.Cut {
		rest.Warnf(ctx, cutWarning)
	}
	customers, employees, own := found.Of[leak.Customer], found.Of[leak.Employee], found.Of[leak.Personal]
	return &LeakStats{
		[]DevicesCount{{found.Devices}}, []CustomersCount{{customers.Count}}, []UsersCount{{own.Count}},
		[]EmployeesCount{{employees.Count}}, []CombolistCount{{found.Combolist}},
		rest.Each(found.Countries, func(g leak.Group) LeakCountry { return LeakCountry{g.Value, g.Count} }),
		urlsOf(customers), urlsOf(employees), urlsOf(own), monthsOf(customers), monthsOf(own), monthsOf(employees),
		sampleOf(customers, unmasked), sampleOf(employees, unmasked), sampleOf(own, unmasked),
	}, err
}

func urlsOf(t leak.TypeStats) []UsedURL {
	return rest.Each(t.URLs, func(g leak.Group) UsedURL { return UsedURL{g.Count, g.Value} })
}

func monthsOf(t leak.TypeStats) []LeaksOfMonth {
	return rest.Each(t.Months, func(m leak.Month) LeaksOfMonth {
		return LeaksOfMonth{m.Count, int(m.Time.Month()), m.Time.Year()}
	})
}

func sampleOf(t leak.TypeStats, unmasked bool) []LeaksUserSample {
	return rest.Each(t.Sample, func(l leak.Leak) LeaksUserSample {
		name := l.Username
		if !unmasked {
			name = masked(name)
		}
		return LeaksUserSample{leak.Masked, name, l.URL, l.Country, timeOf(l.LogDate)}
	})
}

// masked shows the first letter of a login, and the domain of an address.
func masked(login string) string {
	name, domain, isAddress := strings.Cut(login, "@")
	for i := range name {
		if i > 0 {
			name = name[:i] + "***"
			break
		}
	}
	if isAddress {
		name += "@" + domain
	}
	return name
}
