package shelf

import (
	"sync"
	"time"
)

// IdleAfter is how long a team's value is kept that nobody asks for.
const IdleAfter = time.Hour

// Kept has a value for each team whose lists somebody asks for, such as an index of its
// rows. The zero value is empty; many goroutines may use it.
type Kept[V any] struct {
	mu     sync.Mutex
	byTeam map[string]*kept[V]
}

type kept[V any] struct {
	value V
	used  time.Time
}

// Of is a team's value, which begin makes where there is none. Values that idle are
// forgotten.
func (k *Kept[V]) Of(teamID string, now time.Time, begin func() V) V {
	k.mu.Lock()
	defer k.mu.Unlock()
	for team, one := range k.byTeam {
		if now.Sub(one.used) > IdleAfter {
			delete(k.byTeam, team)
		}
	}
	one := k.byTeam[teamID]
	if one == nil {
		one = &kept[V]{value: begin()}
		if k.byTeam == nil {
			k.byTeam = map[string]*kept[V]{}
		}
		k.byTeam[teamID] = one
	}
	one.used = now
	return one.value
}

// Has reports whether there is a value of a team.
func (k *Kept[V]) Has(teamID string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.byTeam[teamID] != nil
}
