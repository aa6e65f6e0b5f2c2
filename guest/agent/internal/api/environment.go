package api

import (
	"fmt"
	"maps"
	"strings"
	"sync"

	"atoll/guest/agent/internal/account"
)

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// environment is what the host wants in every command of the sandbox. It is never written to the guest's disk.
type environment struct {
	mu     sync.Mutex
	values map[string]string
}

func (e *environment) replace(values map[string]string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.values = maps.Clone(values)
}

// of is the environment of one command: the account's, then the sandbox's, then the call's; the later wins.
func (e *environment) of(user account.Account, call map[string]string) map[string]string {
	values := map[string]string{
		"PATH":  defaultPath,
		"HOME":  user.Home,
		"SHELL": user.Shell,
		"LANG":  "C.UTF-8",
	}
	if user.Name != "" {
		values["USER"], values["LOGNAME"] = user.Name, user.Name
	}
	e.mu.Lock()
	maps.Copy(values, e.values)
	e.mu.Unlock()
	maps.Copy(values, call)
	return values
}

// pairs is the form that exec wants.
func pairs(values map[string]string) []string {
	list := make([]string, 0, len(values))
	for name, value := range values {
		list = append(list, name+"="+value)
	}
	return list
}

// checkEnvironment refuses what exec cannot pass on.
func checkEnvironment(values map[string]string) error {
	for name, value := range values {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			return fmt.Errorf("env: %q is not a variable", name)
		}
	}
	return nil
}
