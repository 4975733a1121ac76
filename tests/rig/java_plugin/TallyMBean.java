package rig;

/** What a task says of itself by JMX. */
public interface TallyMBean {
    long getSent();

    boolean isReady();

    Double getUnknown();

    String getText();

    int getSlow() throws InterruptedException;
}
