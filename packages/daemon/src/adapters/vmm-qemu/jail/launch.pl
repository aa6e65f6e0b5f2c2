#!/usr/bin/perl
# Opens what a jailed monitor gets as descriptors, joins its cgroup, and becomes the command in a user namespace of its own.
#
#   launch.pl --cgroup DIR --uids MAP --gids MAP --tap FD=NAME --listen FD=PATH --file FD=PATH -- COMMAND...
#
# MAP is "INSIDE OUTSIDE COUNT", several with commas between them. In the new namespace the command is root, which is the
# caller outside. This is Perl since a tap is opened by an ioctl, which Node has not, and perl-base is on every Debian.
use strict;
use warnings;
use Socket qw(AF_UNIX SOCK_STREAM pack_sockaddr_un);
use POSIX ();

# linux/if_tun.h
use constant { TUNSETIFF => 0x400454ca, IFF_TAP => 0x2, IFF_NO_PI => 0x1000, IFF_VNET_HDR => 0x4000 };
# linux/sched.h, and the system call's number on x86-64.
use constant { CLONE_NEWUSER => 0x10000000, SYS_UNSHARE => 272 };

# Descriptors stay open in the command.
$^F = 1_000_000;

my %option;
my %open = (tap => \&open_tap, listen => \&listen_on, file => \&open_file);
# Perl closes what no variable holds any more.
my @in_place;

while (@ARGV and (my $word = shift @ARGV) ne '--') {
    my $name = $word =~ s/^--//r;
    my $value = shift @ARGV;
    if ($open{$name}) {
        my ($fd, $what) = split /=/, $value, 2;
        my $handle = $open{$name}->($what);
        if (fileno $handle == $fd) { push @in_place, $handle }
        else {
            defined POSIX::dup2(fileno $handle, $fd) or fail("descriptor $fd");
            close $handle;
        }
    }
    else { $option{$name} = $value }
}

if (defined $option{cgroup}) {
    open my $procs, '>', "$option{cgroup}/cgroup.procs" or fail("cgroup $option{cgroup}");
    syswrite $procs, '0' or fail("cgroup $option{cgroup}");
    close $procs;
}
enter_user_namespace($option{uids}, $option{gids});
exec { $ARGV[0] } @ARGV or fail($ARGV[0]);

sub fail {
    my ($what) = @_;
    print STDERR "jail: $what: $!\n";
    exit 70;
}

sub open_tap {
    my ($name) = @_;
    open my $tun, '+<', '/dev/net/tun' or fail('/dev/net/tun');
    my $request = pack 'a16 S x22', $name, IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
    ioctl $tun, TUNSETIFF, $request or fail("tap $name");
    return $tun;
}

sub listen_on {
    my ($path) = @_;
    socket my $socket, AF_UNIX, SOCK_STREAM, 0 or fail('socket');
    bind $socket, pack_sockaddr_un($path) or fail("socket $path");
    listen $socket, 1 or fail("socket $path");
    return $socket;
}

sub open_file {
    my ($path) = @_;
    open my $file, '<', $path or fail($path);
    return $file;
}

# The maps are written from outside, by newuidmap and newgidmap, which know what this user's subordinate ids are.
sub enter_user_namespace {
    my ($uids, $gids) = @_;
    my $self = $$;
    pipe my $wait, my $go or fail('pipe');
    my $child = fork // fail('fork');
    if ($child == 0) {
        close $go;
        sysread $wait, my $byte, 1;
        for my $map (['newuidmap', $uids], ['newgidmap', $gids]) {
            my ($program, $ids) = @$map;
            system($program, $self, split /[ ,]/, $ids) == 0 or POSIX::_exit(70);
        }
        POSIX::_exit(0);
    }
    close $wait;
    syscall(SYS_UNSHARE, CLONE_NEWUSER) == 0 or fail('a user namespace');
    syswrite $go, '.';
    close $go;
    waitpid $child, 0;
    exit 70 if $? != 0;
    POSIX::setgid(0) or fail('gid');
    POSIX::setuid(0) or fail('uid');
}
