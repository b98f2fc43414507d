package list_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/list"
)

// A service says what its list is, in a package variable. Its migration has
//
//	-- +goose Up
//	$LIST(pet)
//	CREATE INDEX pet_name ON pet (team_id, name, no);  -- an index for each order
//
//	-- +goose Down
//	$NOLIST(pet)
var pets = list.Index{Name: "pet", Table: "pet", Searched: []string{"name", "kind"}}

// petRow is the entry of a row: every facet that lists filter by, in lower case where case
// does not count.
func petRow(no int64, name, kind string) list.Row {
	return list.Row{No: no, Values: []list.Value{{Facet: "name", Value: strings.ToLower(name)},
		{Facet: "kind", Value: kind}}}
}

func Example() {
	ctx := context.Background()
	d, close := exampleDatabase(ctx, `CREATE TABLE pet (team_id TEXT, no BIGINT, name TEXT, PRIMARY KEY (team_id, no))`,
		"pet")
	defer close()

	// Rows are written to both in one transaction: new ones by Add, changed ones by Put.
	err := d.Tx(ctx, func(tx *db.Tx) error {
		if err := tx.Insert(ctx, `pet (team_id, no, name)`,
			[][]any{{"t", 1, "Rex"}, {"t", 2, "Tom"}, {"t", 3, "Tessa"}}); err != nil {
			return err
		}
		return pets.Add(ctx, tx, "t", []list.Row{petRow(1, "Rex", "dog"), petRow(2, "Tom", "cat"), petRow(3, "Tessa", "cat")})
	})
	if err != nil {
		fmt.Println(err)
	}

	// A list is a filter, an order and a part. The service reads the rows of Numbers itself.
	page, err := pets.Page(ctx, d, "t", list.Query{
		Filter: list.All(list.Has("kind", "cat", "bird"), list.Contains("t", "name")),
		Orders: []list.Order{{Column: "name"}},
		Limit:  10,
	})
	fmt.Println(page.Numbers, page.Total, err)

	counts, err := pets.Counts(ctx, d, "t", nil, "kind", 100)
	fmt.Println(counts, err)
	// Output:
	// [3 2] 2 <nil>
	// [{cat 2} {dog 1}] <nil>
}
