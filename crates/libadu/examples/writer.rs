//! The program of the tests: hands bytes to TCP connections in many ways, and knows nothing of libadu.
//!
//! `writer SCENE PORT`: what it writes goes to 127.0.0.1:PORT; `tests/preloaded` counts there what arrives.
//! It fails, with a sentence, if a call does not do what it does without a library in between.

use std::mem::zeroed;
use std::process::exit;
use std::ptr::null_mut;
use std::thread;

use libc::{c_int, c_void};

type Scene = fn(u16);

const SCENES: &[(&str, Scene)] = &[
    ("calls", calls),
    ("threads-one-socket", threads_on_one_socket),
    ("threads-many-sockets", threads_on_many_sockets),
    ("fork", |port| forked(port, || unsafe { libc::fork() })),
    ("fork-by-system-call", |port| {
        forked(port, || unsafe { libc::syscall(libc::SYS_fork) } as c_int)
    }),
    ("vfork", vforked),
    ("exec", exec),
    ("nonblocking", nonblocking),
    ("interrupted", interrupted),
    ("signal-handler", signal_handler),
    ("cancelled", cancelled),
    ("forever", forever),
    ("errno", errno_stays),
    ("dup", dup),
    ("reuse", reuse),
    ("close-each", |port| closes_all(port, close_each)),
    ("close-range", |port| {
        closes_all(port, || unsafe {
            assert_eq!(libc::close_range(3, u32::MAX, 0), 0)
        })
    }),
    ("closefrom", |port| {
        closes_all(port, || unsafe { closefrom(3) })
    }),
    ("close-by-system-call", number_taken),
    ("shutdown", shutdown),
    ("not-accounted", not_accounted),
    ("mapped", mapped),
    ("fastopen", fastopen),
    ("descriptors", descriptors),
    ("limits", limits),
    ("files", files),
    ("costs", costs),
];

unsafe extern "C" {
    fn closefrom(first: c_int);
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let port = arguments[2].parse().expect("a port");
    match SCENES.iter().find(|scene| scene.0 == arguments[1]) {
        Some(scene) => scene.1(port),
        None if arguments[1] == "after-exec" => after_exec(port),
        None => panic!("no scene is called {}", arguments[1]),
    }
}

fn ok(what: &str, result: i64) -> i64 {
    assert!(result >= 0, "{what}: {}", std::io::Error::last_os_error());
    result
}

fn errno() -> c_int {
    unsafe { *libc::__errno_location() }
}

fn loopback(port: u16) -> libc::sockaddr_in {
    let mut address: libc::sockaddr_in = unsafe { zeroed() };
    address.sin_family = libc::AF_INET as u16;
    address.sin_port = port.to_be();
    address.sin_addr.s_addr = u32::from(std::net::Ipv4Addr::LOCALHOST).to_be();
    address
}

fn tcp() -> c_int {
    ok(
        "socket",
        i64::from(unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0) }),
    ) as c_int
}

fn connect(port: u16) -> c_int {
    connect_small(port, None)
}

/// A connection; with a small send buffer, if asked for.
fn connect_small(port: u16, buffer: Option<c_int>) -> c_int {
    let fd = tcp();
    if let Some(buffer) = buffer {
        let value = (&raw const buffer).cast::<c_void>();
        let done = unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_SNDBUF, value, 4) };
        ok("setsockopt", i64::from(done));
    }
    let address = loopback(port);
    let result = unsafe {
        libc::connect(
            fd,
            (&raw const address).cast(),
            size_of_val(&address) as u32,
        )
    };
    ok("connect", i64::from(result));
    fd
}

fn write(fd: c_int, bytes: usize) -> i64 {
    let data = vec![b'w'; bytes];
    unsafe { libc::write(fd, data.as_ptr().cast(), bytes) as i64 }
}

fn write_all(fd: c_int, bytes: usize) {
    let mut left = bytes;
    while left > 0 {
        left -= ok("write", write(fd, left)) as usize;
    }
}

fn close(fd: c_int) {
    ok("close", i64::from(unsafe { libc::close(fd) }));
}

fn wait_for(child: c_int) {
    let mut status = 0;
    ok(
        "waitpid",
        i64::from(unsafe { libc::waitpid(child, &raw mut status, 0) }),
    );
    assert_eq!(status, 0, "the child failed");
}

/// Each call once or twice, with another number of bytes each, on a connection of its own.
fn calls(port: u16) {
    let data = vec![b'c'; 5000];
    let at = data.as_ptr().cast::<c_void>();
    let part = |bytes| libc::iovec {
        iov_base: at.cast_mut(),
        iov_len: bytes,
    };
    let parts = [part(100), part(0), part(4000)];
    let message = || {
        let mut message: libc::msghdr = unsafe { zeroed() };
        message.msg_iov = parts.as_ptr().cast_mut();
        message.msg_iovlen = parts.len();
        message
    };
    let on_new = |expected: i64, call: &dyn Fn(c_int) -> i64| {
        let fd = connect(port);
        assert_eq!(call(fd), expected);
        close(fd);
    };
    unsafe {
        on_new(1000, &|fd| libc::write(fd, at, 1000) as i64);
        on_new(4100, &|fd| libc::writev(fd, parts.as_ptr(), 3) as i64);
        on_new(1001, &|fd| {
            libc::send(fd, at, 1001, libc::MSG_NOSIGNAL) as i64
        });
        on_new(1002, &|fd| libc::send(fd, at, 1002, libc::MSG_MORE) as i64);
        on_new(1003, &|fd| {
            libc::sendto(fd, at, 1003, 0, std::ptr::null(), 0) as i64
        });
        on_new(4100, &|fd| libc::sendmsg(fd, &message(), 0) as i64);
        on_new(2, &|fd| {
            let each = libc::mmsghdr {
                msg_hdr: message(),
                msg_len: 0,
            };
            let mut both = [each, each];
            i64::from(libc::sendmmsg(fd, both.as_mut_ptr(), 2, 0))
        });
        let name = c"/tmp";
        let file = libc::open(name.as_ptr(), libc::O_TMPFILE | libc::O_RDWR, 0o600);
        ok("open", i64::from(file));
        assert_eq!(libc::write(file, at, 5000), 5000);
        on_new(5000, &|fd| {
            let mut offset = 0;
            libc::sendfile(fd, file, &raw mut offset, 1 << 30) as i64
        });
        on_new(2000, &|fd| {
            let mut offset = 3000;
            libc::sendfile64(fd, file, &raw mut offset, 1 << 30) as i64
        });
        libc::lseek(file, 1000, libc::SEEK_SET);
        on_new(4000, &|fd| {
            libc::sendfile(fd, file, null_mut(), 1 << 30) as i64
        });
        on_new(0, &|fd| libc::sendfile(fd, file, null_mut(), 100) as i64);
        on_new(0, &|fd| libc::write(fd, at, 0) as i64);
    }
}

fn threads_on_one_socket(port: u16) {
    let fd = connect(port);
    thread::scope(|scope| {
        for thread in 0..8 {
            scope.spawn(move || (0..500).for_each(|at| write_all(fd, 1 + (at * 7 + thread) % 900)));
        }
    });
    close(fd);
}

fn threads_on_many_sockets(port: u16) {
    thread::scope(|scope| {
        for thread in 0..8 {
            scope.spawn(move || {
                for connection in 0..20 {
                    let fd = connect(port);
                    (0..10).for_each(|at| write_all(fd, 1 + at * 100 + thread + connection));
                    close(fd);
                }
            });
        }
    });
}

fn forked(port: u16, fork: impl Fn() -> c_int) {
    let fd = connect(port);
    write_all(fd, 1000);
    let child = ok("fork", i64::from(fork())) as c_int;
    (0..50).for_each(|_| write_all(fd, if child == 0 { 30 } else { 20 }));
    if child == 0 {
        let own = connect(port);
        write_all(own, 77);
        unsafe { libc::_exit(0) };
    }
    wait_for(child);
    close(fd);
}

fn vforked(port: u16) {
    let fd = connect(port);
    write_all(fd, 1000);
    let data = [0_u8; 100];
    #[allow(deprecated)]
    let child = unsafe { libc::vfork() };
    if child == 0 {
        unsafe {
            let taken = libc::write(fd, data.as_ptr().cast(), 100);
            libc::close(fd);
            libc::_exit(if taken == 100 { 0 } else { 1 });
        }
    }
    wait_for(child);
    write_all(fd, 10);
    close(fd);
}

fn exec(port: u16) {
    let fd = connect(port);
    write_all(fd, 1000);
    let number = std::ffi::CString::new(fd.to_string()).expect("digits");
    let program = c"/proc/self/exe".as_ptr();
    let arguments = [
        program,
        c"after-exec".as_ptr(),
        number.as_ptr(),
        std::ptr::null(),
    ];
    unsafe { libc::execv(program, arguments.as_ptr()) };
    panic!("exec: {}", std::io::Error::last_os_error());
}

/// The descriptor comes in place of the port.
fn after_exec(fd: u16) {
    let open = (3..2048)
        .filter(|fd| unsafe { libc::fcntl(*fd, libc::F_GETFD) } >= 0)
        .count();
    println!("{open}");
    write_all(c_int::from(fd), 234);
    close(c_int::from(fd));
}

fn set_nonblocking(fd: c_int) {
    ok(
        "fcntl",
        i64::from(unsafe { libc::fcntl(fd, libc::F_SETFL, libc::O_NONBLOCK) }),
    );
}

/// Much more than fits, whenever there is room.
fn nonblocking(port: u16) {
    let fd = connect_small(port, Some(4096));
    set_nonblocking(fd);
    let (mut left, mut refused, mut partial) = (3_000_000, 0, 0);
    while left > 0 {
        let taken = write(fd, left.min(100_000));
        if taken < 0 {
            assert_eq!(errno(), libc::EAGAIN);
            refused += 1;
            let mut ready = libc::pollfd {
                fd,
                events: libc::POLLOUT,
                revents: 0,
            };
            ok(
                "poll",
                i64::from(unsafe { libc::poll(&raw mut ready, 1, -1) }),
            );
            continue;
        }
        partial += i32::from((taken as usize) < left.min(100_000));
        left -= taken as usize;
    }
    assert!(
        refused > 0 && partial > 0,
        "{refused} refused, {partial} partial: the buffer was not small"
    );
    close(fd);
}

extern "C" fn nothing(_: c_int) {}

fn on_signal(signal: c_int, handler: extern "C" fn(c_int)) {
    let mut action: libc::sigaction = unsafe { zeroed() };
    action.sa_sigaction = handler as *const () as usize;
    ok(
        "sigaction",
        i64::from(unsafe { libc::sigaction(signal, &raw const action, null_mut()) }),
    );
}

/// A write of more than anybody reads, until an alarm. Prints how much was taken.
fn interrupted(port: u16) {
    let fd = connect_small(port, Some(4096));
    on_signal(libc::SIGALRM, nothing);
    let data = vec![0_u8; 50_000_000];
    unsafe { libc::alarm(1) };
    let taken = ok("write", unsafe {
        libc::write(fd, data.as_ptr().cast(), data.len()) as i64
    });
    assert!(
        0 < taken && (taken as usize) < data.len(),
        "the write was not interrupted"
    );
    unsafe { libc::alarm(1) };
    let more = unsafe { libc::write(fd, data.as_ptr().cast(), data.len()) as i64 };
    assert!((more, errno()) == (-1, libc::EINTR) || more > 0, "{more}");
    println!("{}", taken + more.max(0));
    close(fd);
}

static SIGNALLED: std::sync::atomic::AtomicI32 = std::sync::atomic::AtomicI32::new(-1);

/// The handler writes into the connection in which the program just writes.
fn signal_handler(port: u16) {
    extern "C" fn handler(_: c_int) {
        let fd = SIGNALLED.load(std::sync::atomic::Ordering::Relaxed);
        if unsafe { libc::write(fd, [0_u8; 3].as_ptr().cast(), 3) } != 3 {
            exit(1);
        }
    }
    let mut action: libc::sigaction = unsafe { zeroed() };
    action.sa_sigaction = handler as *const () as usize;
    action.sa_flags = libc::SA_RESTART;
    ok(
        "sigaction",
        i64::from(unsafe { libc::sigaction(libc::SIGALRM, &raw const action, null_mut()) }),
    );
    for _ in 0..20 {
        let fd = connect(port);
        SIGNALLED.store(fd, std::sync::atomic::Ordering::Relaxed);
        let every = libc::timeval {
            tv_sec: 0,
            tv_usec: 50,
        };
        let timer = libc::itimerval {
            it_interval: every,
            it_value: every,
        };
        unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, null_mut()) };
        (0..200).for_each(|_| write_all(fd, 10));
        let off: libc::itimerval = unsafe { zeroed() };
        unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const off, null_mut()) };
        close(fd);
    }
}

/// A thread is cancelled in a write that blocks; the program goes on.
fn cancelled(port: u16) {
    type Start = extern "C" fn(*mut c_void) -> *mut c_void;
    static DATA: [u8; 50_000_000] = [0; 50_000_000];
    // A plain frame, which may be unwound.
    extern "C-unwind" fn blocked(fd: *mut c_void) -> *mut c_void {
        unsafe extern "C-unwind" {
            fn write(fd: c_int, data: *const c_void, len: usize) -> isize;
        }
        unsafe { write(fd as usize as c_int, (&raw const DATA).cast(), DATA.len()) };
        null_mut()
    }
    // SAFETY: the two differ in whether they may be unwound, which glibc does.
    let start = unsafe { std::mem::transmute::<extern "C-unwind" fn(_) -> _, Start>(blocked) };
    let fd = connect_small(port, Some(4096));
    unsafe {
        let mut thread = zeroed();
        assert_eq!(
            libc::pthread_create(
                &raw mut thread,
                std::ptr::null(),
                start,
                fd as usize as *mut c_void
            ),
            0
        );
        libc::usleep(300_000);
        assert_eq!(libc::pthread_cancel(thread), 0);
        let mut result = null_mut();
        assert_eq!(libc::pthread_join(thread, &raw mut result), 0);
        // PTHREAD_CANCELED
        assert_eq!(result as usize, usize::MAX);
    }
    let other = connect(port);
    write_all(other, 321);
    close(other);
    close(fd);
}

fn forever(port: u16) {
    let fd = connect(port);
    loop {
        write_all(fd, 10_000);
    }
}

fn errno_stays(port: u16) {
    let expect = |expected: c_int, result: i64| {
        assert!((result < 0) == (expected != 77), "{result}");
        assert_eq!(errno(), expected);
        unsafe { *libc::__errno_location() = 77 };
    };
    unsafe { *libc::__errno_location() = 77 };
    unsafe {
        let fd = connect(port);
        let file = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        expect(77, write(fd, 100));
        expect(77, write(file, 100));
        expect(libc::EBADF, write(-1, 100));
        expect(libc::EBADF, write(999, 100));
        expect(
            libc::ENOTSOCK,
            libc::send(file, [0].as_ptr().cast(), 1, 0) as i64,
        );
        expect(
            libc::EFAULT,
            libc::write(fd, std::ptr::dangling::<c_void>(), 10) as i64,
        );
        expect(
            libc::EINVAL,
            libc::writev(fd, std::ptr::dangling(), -1) as i64,
        );
        expect(
            libc::EINVAL,
            libc::writev(fd, std::ptr::dangling(), 5000) as i64,
        );
        expect(libc::EFAULT, libc::sendmsg(fd, std::ptr::null(), 0) as i64);
        expect(
            libc::EPIPE,
            libc::send(tcp(), [0].as_ptr().cast(), 1, libc::MSG_NOSIGNAL) as i64,
        );
        expect(77, i64::from(libc::shutdown(fd, libc::SHUT_WR)));
        expect(
            libc::EPIPE,
            libc::send(fd, [0].as_ptr().cast(), 1, libc::MSG_NOSIGNAL) as i64,
        );
        expect(77, i64::from(libc::close(fd)));
        expect(libc::EBADF, i64::from(libc::close(fd)));
        expect(libc::EBADF, i64::from(libc::close(-1)));
        expect(libc::EINVAL, i64::from(libc::close_range(9, 3, 0)));
    }
}

/// One connection under several numbers, which change.
fn dup(port: u16) {
    let (one, other) = (connect(port), connect(port));
    let also_one = ok("dup", i64::from(unsafe { libc::dup(one) })) as c_int;
    write_all(one, 100);
    write_all(also_one, 50);
    write_all(other, 7);
    ok("dup2", i64::from(unsafe { libc::dup2(other, one) }));
    write_all(one, 3);
    write_all(also_one, 20);
    close(one);
    write_all(other, 1);
    close(also_one);
    close(other);
}

/// One number, a hundred connections, closed in ways that are seen and in ways that are not.
fn reuse(port: u16) {
    let mut numbers = std::collections::BTreeSet::new();
    for at in 0..100 {
        let fd = connect(port);
        numbers.insert(fd);
        write_all(fd, 10 + at);
        if at % 2 == 0 {
            close(fd);
        } else {
            ok("close", unsafe { libc::syscall(libc::SYS_close, fd) });
        }
    }
    assert_eq!(
        numbers.len(),
        1,
        "connections had several numbers: {numbers:?}"
    );
}

fn close_each() {
    (3..1024).for_each(|fd| unsafe {
        libc::close(fd);
    });
    let last = unsafe { libc::sysconf(libc::_SC_OPEN_MAX) } as c_int;
    (1024..last).for_each(|fd| unsafe {
        libc::close(fd);
    });
}

fn closes_all(port: u16, close_all: impl Fn()) {
    let before = connect(port);
    write_all(before, 11);
    close_all();
    assert_eq!(
        unsafe { libc::fcntl(before, libc::F_GETFD) },
        -1,
        "it is closed"
    );
    let after = connect(port);
    assert_eq!(after, 3, "the lowest number is free");
    write_all(after, 22);
    close(after);
}

/// All is closed by a system call, and every number up to 1100 is then a socket of the program's.
fn number_taken(port: u16) {
    ok("close_range", unsafe {
        libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0)
    });
    let tcp = connect(port);
    let mut pair = [0; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_NONBLOCK;
    ok(
        "socketpair",
        i64::from(unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, pair.as_mut_ptr()) }),
    );
    for fd in 100..1100 {
        ok("dup2", i64::from(unsafe { libc::dup2(tcp, fd) }));
    }
    write_all(tcp, 1000);
    for fd in 100..1100 {
        ok("dup2", i64::from(unsafe { libc::dup2(pair[0], fd) }));
    }
    write_all(tcp, 1000);
    let mut message = [0_u8; 100];
    let got = unsafe { libc::read(pair[1], message.as_mut_ptr().cast(), 100) };
    assert_eq!(
        (got, errno()),
        (-1, libc::EAGAIN),
        "a report went to a socket of the program"
    );
    (100..1100).for_each(close);
    close(tcp);
}

/// Says when it has shut down, and stays until it is told to go.
fn shutdown(port: u16) {
    let fd = connect(port);
    write_all(fd, 500);
    ok(
        "shutdown",
        i64::from(unsafe { libc::shutdown(fd, libc::SHUT_RD) }),
    );
    write_all(fd, 5);
    ok(
        "shutdown",
        i64::from(unsafe { libc::shutdown(fd, libc::SHUT_WR) }),
    );
    println!("shut down");
    let _ = std::io::stdin().read_line(&mut String::new());
}

fn not_accounted(_: u16) {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::unix::net::UnixStream;
    let listener = TcpListener::bind("[::1]:0").expect("IPv6 on loopback");
    let mut v6 = TcpStream::connect(listener.local_addr().expect("bound")).expect("connects");
    v6.write_all(&[0; 1000]).expect("written");
    v6.write_all(&[0; 1000]).expect("written");
    let udp = UdpSocket::bind("127.0.0.1:0").expect("bound");
    udp.connect(udp.local_addr().expect("bound"))
        .expect("connects");
    udp.send(&[0; 100]).expect("sent");
    udp.send_to(&[0; 100], udp.local_addr().expect("bound"))
        .expect("sent");
    let (mut one, _other) = UnixStream::pair().expect("a pair");
    one.write_all(&[0; 100]).expect("written");
    assert_eq!(
        unsafe { libc::send(tcp(), [0].as_ptr().cast(), 1, libc::MSG_NOSIGNAL) },
        -1
    );
    let mut file = std::fs::File::create("/dev/null").expect("opens");
    file.write_all(&[0; 100]).expect("written");
}

/// IPv4 by an IPv6 socket, as servers have it that listen to both.
fn mapped(port: u16) {
    use std::io::Write;
    let mut stream =
        std::net::TcpStream::connect(format!("[::ffff:127.0.0.1]:{port}")).expect("connects");
    stream.write_all(&[0; 1234]).expect("written");
}

/// The first bytes go with the call that connects, all others as always.
fn fastopen(port: u16) {
    let fd = tcp();
    let address = loopback(port);
    let data = [0_u8; 700];
    let to = (&raw const address).cast();
    let size = size_of_val(&address) as u32;
    let taken =
        unsafe { libc::sendto(fd, data.as_ptr().cast(), 700, libc::MSG_FASTOPEN, to, size) };
    assert_eq!(ok("sendto", taken as i64), 700);
    write_all(fd, 70);
    close(fd);
}

/// The numbers of new descriptors.
fn descriptors(_: u16) {
    for _ in 0..5 {
        println!("{}", unsafe {
            libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY)
        });
    }
}

/// How many descriptors there are to have, and the limits; then a connection that uses the last one.
fn limits(port: u16) {
    let mut limit: libc::rlimit = unsafe { zeroed() };
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    let mut last = -1;
    let mut count = 0;
    loop {
        let fd = unsafe { libc::dup(0) };
        if fd < 0 {
            assert_eq!(errno(), libc::EMFILE);
            break;
        }
        count += 1;
        last = fd;
    }
    println!("{count} {last} {} {}", limit.rlim_cur, limit.rlim_max);
    close(last);
    let fd = connect(port);
    assert_eq!(fd, last);
    write_all(fd, 99);
    close(fd);
}

/// What a program does that has no sockets. The test counts its system calls between two calls of `getppid`.
fn files(_: u16) {
    let file = unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDWR) };
    let data = [0_u8; 10];
    let part = libc::iovec {
        iov_base: data.as_ptr().cast_mut().cast(),
        iov_len: 10,
    };
    unsafe {
        libc::getppid();
        (0..100).for_each(|_| {
            libc::write(file, data.as_ptr().cast(), 10);
            libc::writev(file, &raw const part, 1);
        });
        libc::close(file);
        libc::getppid();
    }
}

/// Ten writes to a connection between two calls of `getppid`; then ten that are refused, also between two.
fn costs(port: u16) {
    let fd = connect_small(port, Some(4096));
    let data = vec![0_u8; 1000];
    let ten = |bytes: usize| unsafe {
        libc::getppid();
        (0..10).for_each(|_| {
            libc::write(fd, data.as_ptr().cast(), bytes);
        });
        libc::getppid();
    };
    write_all(fd, 1);
    ten(1);
    set_nonblocking(fd);
    // Fill it: nobody reads. What arrives late at the receiver makes room in the buffer once more.
    let mut full = 0;
    while full < 20 {
        full = if write(fd, 1000) < 0 { full + 1 } else { 0 };
        unsafe { libc::usleep(10_000) };
    }
    ten(1);
    unsafe {
        libc::getppid();
        libc::close(fd);
        libc::getppid();
    }
}
