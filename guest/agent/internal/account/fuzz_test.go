package account

import "testing"

// FuzzResolve: the guest's own files, and the user that a caller names, never make a panic, nor an account without a home to go to.
func FuzzResolve(f *testing.F) {
	f.Add("root", "root:x:0:0:root:/root:/bin/bash\n", "root:x:0:\n")
	f.Add("1000:users", "me:x:1000:1000::/home/me:\n", "users:x:100:me,you\n")
	f.Add("4294967295", "a:b\n::::::\n", "\x00")
	f.Fuzz(func(t *testing.T, user, passwd, group string) {
		found, err := resolve(user, passwd, group)
		if err == nil && found.Shell == "" {
			t.Errorf("%q in %q: no shell", user, passwd)
		}
	})
}
