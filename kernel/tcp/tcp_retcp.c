// SPDX-License-Identifier: GPL-2.0-only
/*
 * reTCP: Reno that follows circuits.
 *
 * Mukerjee et al., "Adapting TCP for Reconfigurable Datacenter Networks",
 * NSDI 2020, section 5.3.
 *
 * The switch of a reconfigurable network sets ECE on the ACKs of a sender that
 * has, or is about to have, a circuit. reTCP watches that bit for edges: when
 * it rises the window is multiplied by alpha, when it falls by beta. The
 * slow-start threshold is left alone. ECN is not negotiated, so that ECE does
 * not also count as congestion.
 *
 * The edge is handled where the window grows, after Reno's own step for that
 * ACK. In a state that does not let the window grow (CWR, Recovery, Loss with
 * nothing delivered) it waits for the first ACK that does; a pair of edges
 * within such a state has no effect.
 *
 * in_ack_event() reports ECE only on connections that negotiated ECN, unless
 * the kernel has the patch that comes with this file.
 */

#include <linux/math64.h>
#include <linux/module.h>
#include <net/tcp.h>

#define RETCP_SHIFT	16
#define RETCP_ONE	(1U << RETCP_SHIFT)

static unsigned int alpha __read_mostly = 2 * RETCP_ONE;
module_param(alpha, uint, 0644);
MODULE_PARM_DESC(alpha, "factor of the window when a circuit comes up, in 1/65536");

static unsigned int beta __read_mostly = RETCP_ONE / 2;
module_param(beta, uint, 0644);
MODULE_PARM_DESC(beta, "factor of the window when a circuit goes down, in 1/65536");

struct retcp {
	bool ece;	/* of the ACK that is being processed */
	bool circuit;	/* ECE as the window last took it into account */
};

static void retcp_init(struct sock *sk)
{
	struct retcp *ca = inet_csk_ca(sk);

	ca->ece = false;
	ca->circuit = false;
}

/* Comes before retcp_cong_avoid() for the same ACK. */
static void retcp_in_ack_event(struct sock *sk, u32 flags)
{
	struct retcp *ca = inet_csk_ca(sk);

	ca->ece = flags & CA_ACK_ECE;
}

static void retcp_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct retcp *ca = inet_csk_ca(sk);
	u64 cwnd;

	tcp_reno_cong_avoid(sk, ack, acked);
	if (ca->ece == ca->circuit)
		return;

	ca->circuit = ca->ece;
	cwnd = mul_u32_u32(tcp_snd_cwnd(tp), ca->circuit ? alpha : beta);
	cwnd >>= RETCP_SHIFT;
	tcp_snd_cwnd_set(tp, clamp_t(u64, cwnd, 1, tp->snd_cwnd_clamp));
}

static struct tcp_congestion_ops retcp __read_mostly = {
	.flags		= TCP_CONG_NON_RESTRICTED,
	.init		= retcp_init,
	.in_ack_event	= retcp_in_ack_event,
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= retcp_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "retcp",
};

static int __init retcp_register(void)
{
	BUILD_BUG_ON(sizeof(struct retcp) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&retcp);
}

static void __exit retcp_unregister(void)
{
	tcp_unregister_congestion_control(&retcp);
}

module_init(retcp_register);
module_exit(retcp_unregister);

MODULE_DESCRIPTION("reTCP: Reno that follows circuits (NSDI 2020)");
MODULE_LICENSE("GPL");
